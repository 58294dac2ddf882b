printf 'alpha = 1\n\nbeta = x\n' >m; espalier run --set ESPALIER_MODEL=m echo ran
