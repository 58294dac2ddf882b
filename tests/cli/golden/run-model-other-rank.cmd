PMI_RANK=3 espalier run --set ESPALIER_MODEL=nowhere echo ran
