ESPALIER_MODEL=. espalier run echo ran
