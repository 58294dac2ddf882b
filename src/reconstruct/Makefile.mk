# Lists of src/reconstruct/; see Makefile.am.
