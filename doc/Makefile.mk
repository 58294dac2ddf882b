# Lists of doc/; see Makefile.am.
dist_man_MANS += %D%/espalier.1
dist_doc_DATA += %D%/guide.md %D%/statistics.md
dist_doc_DATA += %D%/transpacking.md %D%/pack-programs.md
dist_doc_DATA += %D%/gather-trees.md %D%/gather-calls.md %D%/gather-trees-monotone.svg %D%/exchange.md %D%/kept-types.md
dist_doc_DATA += %D%/reconstruction.md %D%/type-plans.md %D%/placement.md
# A picture in README.md.
dist_doc_DATA += %D%/layouts.svg
