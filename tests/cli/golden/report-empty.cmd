: > empty; espalier report empty
