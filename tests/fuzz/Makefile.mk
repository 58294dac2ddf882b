# Lists of tests/fuzz/; see Makefile.am. scripts/dev/fuzz builds the targets with clang and libFuzzer.
check_PROGRAMS += %D%/fuzz-some
TESTS += %D%/fuzz-some
%C%_fuzz_some_SOURCES = %D%/fuzz_some.c %D%/fuzz_tree.c %D%/fuzz_sizes.c %D%/fuzz_place.c %D%/fuzz.c %D%/fuzz.h \
	tests/unit/random.c tests/unit/random.h src/cli/draw.c src/cli/draw_dot.c src/cli/draw_svg.c \
	src/cli/mapfile.c src/cli/text.c src/cli/sizefile.c src/cli/readmodel.c \
	src/cli/linkfile.c
%C%_fuzz_some_LDADD = libespi-pure.la -lm
EXTRA_DIST += %D%/fuzz_target.c
