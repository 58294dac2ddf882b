espalier run --set ESPALIER_BUDGET_MS=-1 true
