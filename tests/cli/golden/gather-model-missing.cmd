printf "node.alpha = 1e-6\n" | espalier gather --dist same -p 4 --model -
