printf '0\n1\n' >from; printf '0\n1\n5\n' >onto; espalier tree from --onto onto
