for d in same decreasing alternating skewed two-blocks; do espalier gather --dist $d -p 200 --algorithm all,unordered,two-size; done
