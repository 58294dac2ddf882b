espalier tree --from-tree - --onto - </dev/null
