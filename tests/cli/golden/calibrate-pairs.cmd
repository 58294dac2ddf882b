espalier calibrate --pairs many
