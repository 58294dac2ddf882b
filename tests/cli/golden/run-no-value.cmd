espalier run --set ESPALIER_DATATYPES true
