# Lists of src/base/; see Makefile.am.
