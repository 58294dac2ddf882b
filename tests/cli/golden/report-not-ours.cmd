echo '{"a": 1}' > other; espalier report other
