# Lists of scripts/; see Makefile.am.
