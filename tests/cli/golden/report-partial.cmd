sed "s/\"complete\": true/\"complete\": false/" "$data/run-a.json" > p; espalier report p | head -8
