sed 's/run-a.json//; s/"plan_no_faster"/"plan_unheard_of"/' "$data/run-a.json" >other
espalier report "$data/run-a.json" other | sed -n '/^  Settings/,/^  Calls/p'
