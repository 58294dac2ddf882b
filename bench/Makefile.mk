# Lists of bench/; see Makefile.am.
