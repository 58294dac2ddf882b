ESPALIER=0 ESPALIER_DATATYPES=always ESPALIER_BUDGET_MS=7 ESPALIER_STATS='a b' espalier settings | grep -B1 'from environment'
