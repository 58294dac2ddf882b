# Lists of scripts/; see Makefile.am.
EXTRA_DIST += %D%/packages %D%/common.sh %D%/quickstart %D%/run-tests %D%/test-summary %D%/limit .ci/run
EXTRA_DIST += %D%/run-scalapack %D%/without-times %D%/fresh-root %D%/bench %D%/bench-pairs %D%/fit-grids
EXTRA_DIST += %D%/bench-instructions
EXTRA_DIST += %D%/lint %D%/stress-types %D%/fuzz %D%/sanitize %D%/make-layout
EXTRA_DIST += %D%/packages-testbed %D%/testbed-trees %D%/testbed-sim %D%/testbed-hosts
EXTRA_DIST += %D%/testbed-shell %D%/testbed-rank %D%/testbed-summary %D%/stress-trees %D%/stress-harmless
EXTRA_DIST += %D%/packages-slurm %D%/testbed-slurm
