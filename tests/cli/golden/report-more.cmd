sed '/"checks_failed"/s/$/,\
"reduce_dense": {"unit": "calls", "sum": 6}, "reduce_packed": {"unit": "calls", "sum": 3},\
"reduce_pieces": {"unit": "calls", "sum": 1}, "tree_calls": {"unit": "calls", "sum": 40},\
"tree_library": {"unit": "calls", "sum": 12}, "tree_leases": {"unit": "leases", "sum": 8}/
/"checks_passed"/s/"sum": 0/"sum": 5/; /"plan_no_faster"/s/"sum": 4/"sum": 1/' "$data/run-a.json" > more
espalier report more | grep -E "^  (types|calls|reductions|gathers|checks)|without Espalier|clearly faster$"
