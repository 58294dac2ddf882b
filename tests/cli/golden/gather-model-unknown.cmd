printf "alpha = 1e-6\nbeta = 1e-9\nrack.alpha = 1\n" | espalier gather --dist same -p 4 --model -
