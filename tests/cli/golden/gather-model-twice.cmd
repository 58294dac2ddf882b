printf "alpha = 1\nbeta = 1\nalpha = 2\n" | espalier gather --dist same -p 4 --model -
