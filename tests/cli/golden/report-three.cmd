espalier report a b c
