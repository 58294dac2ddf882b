printf "node.alpha = 1e-6\nnode.beta = 1e-9\n" | espalier gather --dist same -p 4 --model - --level net
