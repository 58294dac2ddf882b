printf 'alpha = 1\n' >m; ESPALIER_MODEL=m espalier run echo ran
