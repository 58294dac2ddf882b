sed "s/\.\/halo/.\/ha\\\\u001b[31mlo/" "$data/run-a.json" > p; espalier report p | sed -n 3p
