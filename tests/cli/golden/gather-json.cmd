printf '3 1 4 0 5' | espalier gather --sizes - --alpha 10 --gamma 0.5 --format json --algorithm optimal,adaptive
