awk 'BEGIN { for (i = 0; i < 5000; i++) print int(i / 50) * 1000 + i % 50 * 8 }' | espalier tree --set extended
