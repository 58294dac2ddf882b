espalier calibrate -o
