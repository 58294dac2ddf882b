printf '3 1 4 0 5' | espalier gather --sizes - --alpha 10 --format svg --algorithm adaptive --root 1
