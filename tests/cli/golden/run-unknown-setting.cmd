espalier run --set ESPALIER_DATATYPE=off true
