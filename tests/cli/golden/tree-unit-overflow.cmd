printf '0\n\n4611686018427387904\n' | espalier tree --unit 4
