espalier run --stats s.json --summary --set ESPALIER_DATATYPES=off --set=ESPALIER_BUDGET_MS=5 sh -c 'env | grep ^ESPALIER_ | grep -v ^ESPALIER_TEST_ | sort' x --stats other
