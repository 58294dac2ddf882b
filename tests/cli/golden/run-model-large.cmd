head -c 65536 /dev/zero >m; ESPALIER_MODEL=m espalier run echo ran
