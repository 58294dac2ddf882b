espalier report --top many a
