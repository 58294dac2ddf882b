# Lists of scripts/; see Makefile.am. README.md there says what each script is for.
EXTRA_DIST += %D%/README.md %D%/common.sh %D%/packages %D%/quickstart %D%/run-tests .ci/run
EXTRA_DIST += %D%/dev/check-api %D%/dev/fresh-root %D%/dev/fuzz %D%/dev/limit %D%/dev/lint %D%/dev/make-layout
EXTRA_DIST += %D%/dev/packages-slurm %D%/dev/sanitize %D%/dev/stress-harmless %D%/dev/stress-trees
EXTRA_DIST += %D%/dev/stress-packed %D%/dev/stress-types %D%/dev/test-summary %D%/dev/without-times
EXTRA_DIST += %D%/bench/bench %D%/bench/bench-instructions %D%/bench/bench-pairs %D%/bench/fit-grids
EXTRA_DIST += %D%/bench/layouts %D%/bench/layouts-picture %D%/bench/layouts-table
EXTRA_DIST += %D%/testbed/hosts %D%/testbed/packages %D%/testbed/rank %D%/testbed/shell %D%/testbed/sim
EXTRA_DIST += %D%/testbed/slurm %D%/testbed/summary %D%/testbed/trees
EXTRA_DIST += %D%/scalapack/run
