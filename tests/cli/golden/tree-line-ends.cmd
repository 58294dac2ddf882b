printf '0\r\n8\r\n16' | espalier tree
