# Lists of tests/scalapack/; see Makefile.am.
dist_check_SCRIPTS += %D%/some.sh
TESTS += %D%/some.sh
