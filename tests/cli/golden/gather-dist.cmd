espalier gather --dist increasing -p 2000 --gamma 1 --root 1000
