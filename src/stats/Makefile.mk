# Lists of src/stats/; see Makefile.am.
