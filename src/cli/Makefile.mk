# Lists of src/cli/; see Makefile.am.
