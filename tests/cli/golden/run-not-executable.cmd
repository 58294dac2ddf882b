: > file; espalier run ./file
