# Lists of src/layout/; see Makefile.am.
