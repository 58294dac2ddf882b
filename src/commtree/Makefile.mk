# Lists of src/commtree/; see Makefile.am.
