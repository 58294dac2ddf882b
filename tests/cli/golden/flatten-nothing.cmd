espalier flatten ''
