espalier run --set ESPALIER_MODEL=nowhere echo ran
