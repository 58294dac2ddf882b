espalier run --set ESPALIER_UNHEARD_OF=off true
