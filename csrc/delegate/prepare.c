#define _GNU_SOURCE
#include "prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ndk/fields.h"
#include "ndk/log.h"
#include "ndk/object.h"
#include "ndk/stored.h"
#include "sha256.h"

void dlg_put_shape(struct ndk_buffer *message, const struct tfl_ints *shape, bool is_place)
{
    bool is_scalar = !shape->size && is_place; /* which the driver has as a row of one */
    ndk_put_array(message, is_scalar ? 1 : (size_t)shape->size);
    if (is_scalar)
        ndk_put_int(message, 1);
    for (int i = 0; i < shape->size; i++)
        ndk_put_int(message, shape->data[i]);
}

static const char *precision_of(const struct dlg_options *options)
{
    return options->is_bf16 ? "bf16" : NULL;
}

/* token: to store the model under, NULL for not at all. */
static void put_prepare(struct ndk_buffer *message, const struct dlg_options *options,
                        const struct tfl_context *context, const struct dlg_graph *graph, const uint8_t *token)
{
    bool is_file = !graph->is_open;
    for (size_t i = 0; i < graph->input_count; i++)
        is_file &= dlg_is_same(graph->shapes[i], context->tensors[graph->inputs[i]].dims);
    ndk_put_array(message, 11);
    ndk_put_int(message, NDK_PREPARE);
    ndk_put_text(message, "sustained_speed");
    ndk_put_text(message, options->priority);
    if (is_file) {
        ndk_put_nil(message);
    } else {
        ndk_put_array(message, graph->input_count);
        for (size_t i = 0; i < graph->input_count; i++) {
            ndk_put_array(message, 2);
            ndk_put_int(message, (int64_t)i);
            dlg_put_shape(message, context->tensors[graph->inputs[i]].dims, false);
        }
    }
    ndk_put_nil(message); /* keep */
    ndk_put_nil(message); /* deadline */
    if (token)
        ndk_put_bytes(message, token, DLG_SHA256_BYTES);
    else
        ndk_put_nil(message);
    ndk_put_bool(message, false);
    ndk_put_int(message, options->num_threads);
    ndk_put_name(message, precision_of(options));
    ndk_put_passes(message, options->is_reference);
}

/* -- compiled models in files ---------------------------------------------------------------------------------------- */
/* What a compiled model depends on: the call that makes it, but for the threads of a run, and the bytes of the file. */
static bool make_token(const struct dlg_options *options, const struct tfl_context *context,
                       const struct dlg_graph *graph, uint8_t token[DLG_SHA256_BYTES])
{
    struct dlg_options any_threads = *options;
    struct ndk_buffer message = {0};
    struct dlg_sha256 hash;
    struct stat found;
    any_threads.num_threads = 0;
    put_prepare(&message, &any_threads, context, graph, NULL);
    void *file = fstat(graph->fd, &found) || message.failed
                     ? MAP_FAILED
                     : mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_SHARED, graph->fd, 0);
    if (file != MAP_FAILED) {
        dlg_sha256_begin(&hash);
        dlg_sha256_add(&hash, message.data, message.size);
        dlg_sha256_add(&hash, file, (size_t)found.st_size);
        dlg_sha256_end(&hash, token);
        munmap(file, (size_t)found.st_size);
    }
    ndk_buffer_free(&message);
    return file != MAP_FAILED;
}

/* Path of the files of a token without what tells the two from each other; NULL without memory. */
static char *stem_of(const struct dlg_options *options, const uint8_t token[DLG_SHA256_BYTES])
{
    char name[2 * DLG_SHA256_BYTES + 1], *stem;
    for (int i = 0; i < DLG_SHA256_BYTES; i++)
        snprintf(name + 2 * i, 3, "%02x", token[i]);
    return asprintf(&stem, "%s/nnfast-delegate-%s", options->cache_dir, name) < 0 ? NULL : stem;
}

static int load(struct ndk_connection *connection, const struct dlg_options *options, const char *stem,
                const uint8_t *token, struct ndk_reader *answer)
{
    struct ndk_stored wanted = {.token = token, .precision = precision_of(options),
                                .is_reference = options->is_reference, .num_threads = options->num_threads};
    int fds[2];
    if (!ndk_cache_open(stem, fds))
        return ANEURALNETWORKS_BAD_DATA;
    int code = ndk_load_stored(connection, fds, &wanted, answer);
    close(fds[0]);
    close(fds[1]);
    return code;
}

static int prepare(struct ndk_connection *connection, const struct dlg_options *options,
                   const struct tfl_context *context, const struct dlg_graph *graph, const char *stem,
                   const uint8_t *token, struct ndk_reader *answer)
{
    struct ndk_buffer message = {0};
    struct ndk_cache_files files;
    bool stores = stem && ndk_cache_make(stem, &files);
    int fds[] = {graph->fd, stores ? files.fds[0] : -1, stores ? files.fds[1] : -1};
    if (stem && !stores)
        ndk_log("cache_dir", stem, strlen(stem)); /* where no files can be made */
    put_prepare(&message, options, context, graph, stores ? token : NULL);
    int code = ndk_call_with(connection, &message, fds, stores ? 3 : 1, NDK_PREPARED, answer, "compile");
    ndk_buffer_free(&message);
    if (stores)
        ndk_cache_end(&files, !code);
    return code;
}

int dlg_prepare(struct ndk_connection *connection, const struct dlg_options *options,
                const struct tfl_context *context, const struct dlg_graph *graph, struct ndk_reader *answer)
{
    uint8_t token[DLG_SHA256_BYTES];
    bool is_cached = options->cache_dir && make_token(options, context, graph, token);
    char *stem = is_cached ? stem_of(options, token) : NULL;
    int code = stem ? load(connection, options, stem, token, answer) : ANEURALNETWORKS_BAD_DATA;
    if (code)
        code = prepare(connection, options, context, graph, stem, token, answer);
    free(stem);
    return code;
}
