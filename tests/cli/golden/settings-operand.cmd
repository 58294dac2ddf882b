espalier settings x
