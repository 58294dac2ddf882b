# Lists of tests/scalapack/; see Makefile.am.
dist_check_SCRIPTS += %D%/some.sh %D%/grids.sh
TESTS += %D%/some.sh %D%/grids.sh
