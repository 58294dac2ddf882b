/* Writing from inside somebody else's process: a reader that went away or a file size limit must not kill it. */
#ifndef ESPI_BASE_WRITE_ALL_H
#define ESPI_BASE_WRITE_ALL_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all `len` bytes to `fd`, going on after interruptions. false with errno set when not all could be written.
   Neither SIGPIPE nor SIGXFSZ reaches the program because of this write. */
bool espi_write_all(int fd, const void *data, size_t len);

#endif
