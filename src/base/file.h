/* Files that are written from inside somebody else's process, in folders that others may write to (/tmp, a project's
   folder): a link planted there is never written through, a pipe never waited for, and the program's own output never
   lands in them. */
#ifndef ESPI_BASE_FILE_H
#define ESPI_BASE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* open() with O_CLOEXEC | O_NOCTTY that never gives one of the descriptors 0 to 2, not even for a moment: where the
   program has closed these, what it writes to them must stay unwritten. -1 with errno set on failure. */
int espi_file_open(const char *name, int flags, mode_t mode);

/* Writes `name` to `whole`, PATH_MAX bytes, from the root on, as the program may go to another folder before the file
   is opened. false: it is too long. */
bool espi_file_from_root(const char *name, char *whole);

enum espi_file_kind {
    ESPI_FILE_PLAIN,      /* a regular file, or nothing is there yet */
    ESPI_FILE_DEVICE,     /* a character device: /dev/null, a terminal */
    ESPI_FILE_DESCRIPTOR, /* what this process has open: /dev/fd/1 */
    ESPI_FILE_FOLDER,
    ESPI_FILE_REFUSED     /* nothing that may be written */
};

/* Where a name leads. */
struct espi_file_place {
    enum espi_file_kind kind;
    char name[PATH_MAX]; /* from the root on; its last part is no link, but for a DESCRIPTOR */
    int descriptor;      /* DESCRIPTOR: its number, and which file it was */
    dev_t device;
    ino_t inode;
    int error;           /* REFUSED: its errno, or 0 and a text */
    const char *why;
};

/* Follows symbolic links that belong to this user or to root; a link of somebody else is refused. (Folders on the
   way are the kernel's business, as for every program.) A name without a folder is seen from the folder of this
   moment. */
void espi_file_find(const char *name, struct espi_file_place *place);

/* A new, empty file in the folder of `name`, which nobody else could have made before: NAME~ and eight random digits.
   Rights are `mode` but for the umask. Writes its name to `fresh`. -1 with errno set on failure. For
   espi_file_fill(), then rename(), which puts it in the place of a link, not of what the link leads to. */
int espi_file_new(const char *name, mode_t mode, char *fresh, size_t size);

/* Writes everything and closes the file. false with errno set when not all is there. */
bool espi_file_fill(int file, const void *data, size_t len);

/* The same for a device or a descriptor, at its end. Gives up when a reader takes nothing for a second. */
bool espi_file_append(const struct espi_file_place *place, const void *data, size_t len);

#endif
