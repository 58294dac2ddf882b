printf '0\n9223372036854775808\n' | espalier tree
