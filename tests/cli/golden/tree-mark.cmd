printf '\357\273\2770\n' | espalier tree
