sed 's/000000000000feed/000000000000fade/; s/"uses": 40000/"uses": 7/' "$data/run-a.json" >other
espalier report "$data/run-a.json" other | sed -n '/^  Types/,$p'
