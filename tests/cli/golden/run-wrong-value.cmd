espalier run --set ESPALIER_DATATYPES=on true
