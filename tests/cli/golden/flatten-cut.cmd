espalier flatten 'vec(3,8'
