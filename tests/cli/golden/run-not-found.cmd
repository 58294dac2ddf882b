espalier run ./no-such-program
