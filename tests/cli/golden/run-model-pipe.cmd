mkfifo m; espalier run --set ESPALIER_MODEL=m echo ran
