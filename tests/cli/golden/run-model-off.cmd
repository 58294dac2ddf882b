ESPALIER=0 ESPALIER_MODEL=nowhere espalier run echo ran
