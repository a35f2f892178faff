/* Files of compiled models. Their contents are the driver's, which trusts none that it has not signed; here are only
 * their names. They are written under other names and renamed, as processes may share a directory. */
#define _GNU_SOURCE
#include "cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const parts[] = {"model", "data"};

/* A number for the structure of a model: one token for two models is the client's mistake, and does no harm. */
static uint64_t digest(const ANeuralNetworksModel *model)
{
    uint64_t hash = UINT64_C(14695981039346656037), size = 0;
    for (int i = 7; i >= 0; i--)
        size = size << 8 | model->map[8 + i];
    for (uint64_t i = 0; i < 24 + size && i < model->map_size; i++)
        hash = (hash ^ model->map[i]) * UINT64_C(1099511628211);
    return hash;
}

char *ndk_cache_stem(const ANeuralNetworksModel *model, const struct ndk_settings *settings)
{
    char token[2 * ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN + 1], *name;
    for (int i = 0; i < ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN; i++)
        snprintf(token + 2 * i, 3, "%02x", settings->cache->token[i]);
    int size = asprintf(&name, "%s/nnfast-%s-%016llx-%s-%s%s", settings->cache->directory, token,
                        (unsigned long long)digest(model), settings->preference, settings->priority,
                        settings->is_reference ? "-reference" : "");
    return size < 0 ? NULL : name;
}

/* Name of one of the two files; NULL without memory. */
static char *name_of(const char *stem, int part)
{
    char *name;
    return asprintf(&name, "%s.%s", stem, parts[part]) < 0 ? NULL : name;
}

static void close_all(int fds[2])
{
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

bool ndk_cache_open(const char *stem, int fds[2])
{
    struct stat found;
    bool is_there = true;
    for (int i = 0; i < 2; i++) {
        char *name = name_of(stem, i);
        fds[i] = name ? open(name, O_RDWR | O_CLOEXEC | O_NONBLOCK) : -1;
        is_there &= fds[i] >= 0 && !fstat(fds[i], &found) && S_ISREG(found.st_mode) && found.st_size;
        free(name);
    }
    if (!is_there)
        close_all(fds);
    return is_there;
}

bool ndk_cache_make(const char *stem, struct ndk_cache_files *files)
{
    bool is_made = true;
    for (int i = 0; i < 2; i++) {
        files->finals[i] = name_of(stem, i);
        if (!files->finals[i] || asprintf(&files->names[i], "%s-XXXXXX", files->finals[i]) < 0)
            files->names[i] = NULL;
        files->fds[i] = files->names[i] ? mkostemp(files->names[i], O_CLOEXEC) : -1; /* of mode 0600 */
        is_made &= files->fds[i] >= 0;
    }
    if (!is_made)
        ndk_cache_end(files, false);
    return is_made;
}

struct ndk_cache_stamp ndk_cache_look(const int fds[2])
{
    struct ndk_cache_stamp stamp = {0};
    struct stat found;
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0 && !fstat(fds[i], &found)) {
            stamp.files[i].device = found.st_dev;
            stamp.files[i].node = found.st_ino;
            stamp.files[i].size = found.st_size;
            stamp.files[i].changed = found.st_mtim;
        }
    return stamp;
}

bool ndk_cache_is_same(const struct ndk_cache_stamp *one, const struct ndk_cache_stamp *other)
{
    bool is_same = true;
    for (int i = 0; i < 2; i++)
        is_same &= one->files[i].device == other->files[i].device && one->files[i].node == other->files[i].node &&
                   one->files[i].size == other->files[i].size &&
                   one->files[i].changed.tv_sec == other->files[i].changed.tv_sec &&
                   one->files[i].changed.tv_nsec == other->files[i].changed.tv_nsec;
    return is_same;
}

struct ndk_cache_stamp ndk_cache_end(struct ndk_cache_files *files, bool was_compiled)
{
    struct ndk_cache_stamp stamp = ndk_cache_look(files->fds);
    for (int i = 0; i < 2; i++)
        was_compiled &= stamp.files[i].size > 0;
    /* The data first: whoever finds a model finds its data, or those of another, which the driver refuses. */
    for (int i = 1; i >= 0; i--)
        if (files->fds[i] >= 0 && (!was_compiled || rename(files->names[i], files->finals[i])))
            unlink(files->names[i]);
    close_all(files->fds);
    for (int i = 0; i < 2; i++) {
        free(files->names[i]);
        free(files->finals[i]);
    }
    return stamp;
}
