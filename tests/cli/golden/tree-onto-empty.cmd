: >from; espalier tree from --onto from
