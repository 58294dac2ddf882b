espalier report ./nothing
