/* The anytime method: a tree and a lower bound that come closer to each other the longer it works. */
#ifndef ESPI_RECONSTRUCT_ANYTIME_H
#define ESPI_RECONSTRUCT_ANYTIME_H

#include "reconstruct/options.h"

/* Works for some `work` units (a unit is a few nanoseconds), then ends with what it is at; more work never gives a
   dearer tree nor a lower bound. ESPI_ERR_LIMIT when that does not suffice to list the repetitions of the map. */
espi_status espi_reconstruct_anytime(struct espi_arena *arena, const struct espi_typemap *map,
                                     const struct espi_reconstruct_options *options, uint64_t work,
                                     struct espi_reconstruction *out);
/* The same for maps with more repetitions than can be listed: from some of them, without a lower bound (0). `all` is
   how many there are, the work that espi_reconstruct_anytime needs at least. */
espi_status espi_reconstruct_thin(struct espi_arena *arena, const struct espi_typemap *map,
                                  const struct espi_reconstruct_options *options, uint64_t work,
                                  struct espi_reconstruction *out, uint64_t *all);
/* The first with the work given that goes into short blocks before the first round; for tests. */
espi_status espi_anytime(struct espi_arena *arena, const struct espi_typemap *map,
                         const struct espi_reconstruct_options *options, uint64_t work, uint64_t ahead,
                         struct espi_reconstruction *out);

#endif
