espalier calibrate --help
