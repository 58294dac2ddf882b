espalier report .
