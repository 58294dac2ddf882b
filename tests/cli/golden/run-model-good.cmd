printf 'alpha = 1e-6\nbeta = 1e-9\n' >m; espalier run --set ESPALIER_MODEL=m echo ran
