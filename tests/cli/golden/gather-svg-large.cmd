printf '4000000000001 3000000000000 999999999999\n' | espalier gather --sizes - --format svg --algorithm linear --root 0 | grep -o 'in time.*<.title\|bytes,.*<.title\|rank 0: .*<.text'
