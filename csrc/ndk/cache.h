/* Compiled models in files of the client's directory. */
#ifndef NDK_CACHE_H
#define NDK_CACHE_H

#include <sys/types.h>
#include <time.h>

#include "model.h"

/* What a directory and a token stand for: two files for this model and these settings. Whatever goes wrong with them,
 * the model is compiled without. */
struct ndk_cache {
    char *directory;
    uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];
};

/* What a finished model is prepared with. is_reference: runs by definitions; timeout: nanoseconds, 0 for none; cache:
 * NULL for none. */
struct ndk_settings {
    const char *preference, *priority;
    bool is_reference;
    uint64_t timeout;
    struct ndk_cache *cache;
};

/* What tells two files from what they were: those that were written, or read, last. */
struct ndk_cache_stamp {
    struct {
        dev_t device;
        ino_t node;
        off_t size;
        struct timespec changed;
    } files[2];
};

/* Files to store a compiled model in, under names that nobody looks at. */
struct ndk_cache_files {
    int fds[2];
    char *names[2], *finals[2];
};

/* Path of the files that a model is stored in, without what tells the two from each other; the caller's to free. NULL
 * without memory. */
char *ndk_cache_stem(const ANeuralNetworksModel *model, const struct ndk_settings *settings);

/* Opens the files of a stem; false if there are none. */
bool ndk_cache_open(const char *stem, int fds[2]);

/* What two open files are now. */
struct ndk_cache_stamp ndk_cache_look(const int fds[2]);
bool ndk_cache_is_same(const struct ndk_cache_stamp *one, const struct ndk_cache_stamp *other);

/* Makes files to store a model in; false if they cannot be made. */
bool ndk_cache_make(const char *stem, struct ndk_cache_files *files);

/* Puts them in their place if they were written, or removes them. Returns what they are. */
struct ndk_cache_stamp ndk_cache_end(struct ndk_cache_files *files, bool was_compiled);

#endif
