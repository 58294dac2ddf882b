# Lists of tests/fuzz/; see Makefile.am. scripts/fuzz builds this, with clang.
EXTRA_DIST += %D%/fuzz_tree.c
