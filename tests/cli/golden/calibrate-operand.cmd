espalier calibrate x
