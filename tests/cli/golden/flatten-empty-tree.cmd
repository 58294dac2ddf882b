espalier flatten 'struc(0,<>,<>)'
