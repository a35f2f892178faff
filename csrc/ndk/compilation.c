/* Compilations. */
#define _GNU_SOURCE
#include "compilation.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cache.h"
#include "device.h"

enum { ALIGNMENT = NDK_LINE };
#define LONGEST_NS UINT64_C(1000000000000000000)

static int create(const ANeuralNetworksModel *model, bool is_single, ANeuralNetworksCompilation **compilation)
{
    *compilation = NULL;
    if (model->state != NDK_READY)
        return ANEURALNETWORKS_BAD_STATE;
    ANeuralNetworksCompilation *made = calloc(1, sizeof *made);
    if (!made)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    made->model = model;
    made->is_single = is_single;
    made->preference = "fast_single_answer";
    made->priority = "medium";
    *compilation = made;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksCompilation_create(ANeuralNetworksModel *model, ANeuralNetworksCompilation **compilation)
{
    return model && compilation ? create(model, false, compilation) : ANEURALNETWORKS_UNEXPECTED_NULL;
}

int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel *model, const ANeuralNetworksDevice *const *devices,
                                                uint32_t numDevices, ANeuralNetworksCompilation **compilation)
{
    if (!model || !devices || !compilation)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = ndk_check_devices(devices, numDevices);
    return code ? code : create(model, numDevices == 1, compilation);
}

static void free_cache(struct ndk_cache *cache)
{
    if (cache)
        free(cache->directory);
    free(cache);
}

void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation *compilation)
{
    if (!compilation)
        return;
    if (compilation->session) {
        if (compilation->can_run)
            ndk_session_release(compilation->session, "prepared", compilation->number);
        ndk_session_unref(compilation->session);
    }
    free_cache(compilation->cache);
    free(compilation);
}

/* -- settings -------------------------------------------------------------------------------------------------------- */
int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation *compilation, int32_t preference)
{
    static const char *const names[] = {"low_power", "fast_single_answer", "sustained_speed"};
    if (!compilation)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (compilation->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    if (preference < 0 || preference > ANEURALNETWORKS_PREFER_SUSTAINED_SPEED)
        return ANEURALNETWORKS_BAD_DATA;
    compilation->preference = names[preference];
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation *compilation, int priority)
{
    if (!compilation)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (compilation->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    switch (priority) {
    case ANEURALNETWORKS_PRIORITY_LOW: compilation->priority = "low"; break;
    case ANEURALNETWORKS_PRIORITY_MEDIUM: compilation->priority = "medium"; break;
    case ANEURALNETWORKS_PRIORITY_HIGH: compilation->priority = "high"; break;
    default: return ANEURALNETWORKS_BAD_DATA;
    }
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation *compilation, uint64_t duration)
{
    if (!compilation)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (compilation->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    if (!compilation->is_single)
        return ANEURALNETWORKS_BAD_DATA;
    compilation->timeout = duration;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation *compilation, const char *cacheDir,
                                          const uint8_t *token)
{
    if (!compilation || !cacheDir || !token)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (compilation->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    struct ndk_cache *cache = calloc(1, sizeof *cache);
    char *directory = strdup(cacheDir);
    if (!cache || !directory) {
        free(cache);
        free(directory);
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    }
    cache->directory = directory;
    memcpy(cache->token, token, sizeof cache->token);
    free_cache(compilation->cache);
    compilation->cache = cache;
    return ANEURALNETWORKS_NO_ERROR;
}

/* -- the end --------------------------------------------------------------------------------------------------------- */
void ndk_put_deadline(struct ndk_buffer *message, uint64_t duration)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (duration && duration < LONGEST_NS)
        ndk_put_double(message, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec + 1e-9 * (double)duration);
    else
        ndk_put_nil(message);
}

/* Takes the number of a prepared model from an answer. */
static int take_number(ANeuralNetworksCompilation *compilation, struct ndk_reader *answer)
{
    compilation->number = ndk_get_int(answer);
    return answer->failed ? ANEURALNETWORKS_OP_FAILED : ANEURALNETWORKS_NO_ERROR;
}

/* The model of the cache's files, if the driver takes them. */
static int load(ANeuralNetworksCompilation *compilation, struct ndk_connection *connection)
{
    struct ndk_buffer message = {0};
    struct ndk_reader answer;
    int fds[2];
    if (!ndk_cache_open(compilation, fds))
        return ANEURALNETWORKS_BAD_DATA;
    ndk_put_array(&message, 2);
    ndk_put_int(&message, NDK_CHECK_CACHE);
    ndk_put_bytes(&message, compilation->cache->token, sizeof compilation->cache->token);
    int code = ndk_call_with(connection, &message, fds, 2, NDK_NUMBER, &answer, "Compilation_finish: cache");
    ndk_buffer_free(&message);
    close(fds[0]);
    close(fds[1]);
    if (code)
        return code;
    int64_t number = ndk_get_int(&answer);
    ndk_put_array(&message, 3);
    ndk_put_int(&message, NDK_LOAD);
    ndk_put_int(&message, number);
    ndk_put_deadline(&message, compilation->timeout);
    code = ndk_call(connection, &message, -1, NDK_PREPARED, &answer, "Compilation_finish: cache");
    ndk_buffer_free(&message);
    if (!code)
        code = take_number(compilation, &answer);
    ndk_session_release(compilation->session, "load", number);
    return code;
}

static int prepare_on(ANeuralNetworksCompilation *compilation, struct ndk_connection *connection)
{
    struct ndk_cache_files files;
    struct ndk_buffer message = {0};
    struct ndk_reader answer;
    bool stores = compilation->cache && ndk_cache_make(compilation, &files);
    int fds[NDK_MOST_FDS] = {compilation->model->fd, stores ? files.fds[0] : -1, stores ? files.fds[1] : -1};
    ndk_put_array(&message, 7);
    ndk_put_int(&message, NDK_PREPARE);
    ndk_put_text(&message, compilation->preference);
    ndk_put_text(&message, compilation->priority);
    ndk_put_nil(&message); /* input_shapes: the model's */
    ndk_put_nil(&message); /* keep */
    ndk_put_deadline(&message, compilation->timeout);
    if (stores)
        ndk_put_bytes(&message, compilation->cache->token, sizeof compilation->cache->token);
    else
        ndk_put_nil(&message);
    int code = ndk_call_with(connection, &message, fds, stores ? 3 : 1, NDK_PREPARED, &answer, "Compilation_finish");
    ndk_buffer_free(&message);
    if (!code)
        code = take_number(compilation, &answer);
    if (stores)
        ndk_cache_end(&files, !code);
    return code;
}

static int prepare(ANeuralNetworksCompilation *compilation)
{
    struct ndk_connection *connection;
    int code = ndk_take(compilation->session, &connection);
    if (code)
        return code;
    if (!compilation->cache || load(compilation, connection))
        code = prepare_on(compilation, connection);
    ndk_give(connection);
    return code;
}

int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation *compilation)
{
    if (!compilation)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (compilation->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    int code = ndk_session(&compilation->session);
    if (!code)
        code = prepare(compilation);
    compilation->can_run = code == ANEURALNETWORKS_NO_ERROR;
    /* The model is valid. What the driver cannot run of the standard compiles, and fails when it is computed; only what
     * no device has a meaning for is refused here. */
    if (code == ANEURALNETWORKS_BAD_DATA && !ndk_has_foreign_parts(compilation->model))
        code = ANEURALNETWORKS_NO_ERROR;
    compilation->state = code ? NDK_FAILED : NDK_READY;
    return code;
}

/* -- memory ---------------------------------------------------------------------------------------------------------- */
static int preferred(const ANeuralNetworksCompilation *compilation, bool is_input, uint32_t index, uint32_t *result)
{
    if (!compilation || !result)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (compilation->state != NDK_READY)
        return ANEURALNETWORKS_BAD_STATE;
    if (index >= (is_input ? compilation->model->input_count : compilation->model->output_count))
        return ANEURALNETWORKS_BAD_DATA;
    *result = ALIGNMENT;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(const ANeuralNetworksCompilation *compilation,
                                                                   uint32_t index, uint32_t *alignment)
{
    return preferred(compilation, true, index, alignment);
}

int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(const ANeuralNetworksCompilation *compilation,
                                                                 uint32_t index, uint32_t *padding)
{
    return preferred(compilation, true, index, padding);
}

int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(const ANeuralNetworksCompilation *compilation,
                                                                    uint32_t index, uint32_t *alignment)
{
    return preferred(compilation, false, index, alignment);
}

int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(const ANeuralNetworksCompilation *compilation,
                                                                  uint32_t index, uint32_t *padding)
{
    return preferred(compilation, false, index, padding);
}
