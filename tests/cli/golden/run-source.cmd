ESPALIER_LOG=info ESPALIER_SUMMARY=0 espalier run --stats "a b" --summary --set ESPALIER_BUDGET_MS=007 espalier settings | grep -B1 "from [eo]"
