espalier run sh -c 'exit 7'
