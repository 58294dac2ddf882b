espalier info a b
