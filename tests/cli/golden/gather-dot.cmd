printf '3 1 4 0 5' | espalier gather --sizes - --alpha 10 --format dot
