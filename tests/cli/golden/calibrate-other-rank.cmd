PMI_RANK=1 espalier calibrate --pairs 0
