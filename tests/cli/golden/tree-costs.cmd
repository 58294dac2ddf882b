printf '0\n1\n5\n' | espalier tree --costs idx=100,idx_each=0 --cost
