# Lists of tests/corpus/; see Makefile.am.
EXTRA_DIST += \
	%D%/README.md \
	%D%/backwards.layout \
	%D%/checkerboard.layout \
	%D%/diagonal.layout \
	%D%/empty.layout \
	%D%/equal-blocks-irregular.layout \
	%D%/irregular-list.layout \
	%D%/near-repeat.layout \
	%D%/pairs-mixed.layout \
	%D%/particles.layout \
	%D%/rowcol-indexed-block.layout \
	%D%/rowcol-indexed.layout \
	%D%/rowcol-struct.layout \
	%D%/same-place.layout \
	%D%/shifted-nest.layout \
	%D%/shifted-run.layout \
	%D%/single-shifted.layout \
	%D%/single.layout \
	%D%/strided-buckets.layout \
	%D%/subarray-3d.layout \
	%D%/subarray-planes.layout \
	%D%/triangle-lower.layout \
	%D%/twenty-then-run.layout \
	%D%/twenty-used-at-one-stride.layout \
	%D%/twenty-used-four-times.layout
