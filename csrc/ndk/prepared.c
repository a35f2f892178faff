/* How the driver prepares models, from the files of a cache or from the model itself. */
#define _GNU_SOURCE
#include "prepared.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ends.h"
#include "fields.h"
#include "release.h"
#include "stored.h"

enum { SMALL_BYTES = 1 << 16 };

/* -- in the driver --------------------------------------------------------------------------------------------------- */
/* Takes the number of a prepared model from an answer. */
static int take_number(struct ndk_prepared *prepared, struct ndk_reader *answer)
{
    prepared->number = ndk_get_int(answer);
    return answer->failed ? ANEURALNETWORKS_OP_FAILED : ANEURALNETWORKS_NO_ERROR;
}

/* The model of the cache's files, if the driver takes them. */
static int load(struct ndk_prepared *prepared, const char *stem, const struct ndk_settings *settings,
                struct ndk_connection *connection)
{
    struct ndk_stored wanted = {.token = settings->cache->token, .is_reference = settings->is_reference,
                                .timeout = settings->timeout};
    struct ndk_reader answer;
    int fds[2];
    if (!ndk_cache_open(stem, fds))
        return ANEURALNETWORKS_BAD_DATA;
    int code = ndk_load_stored(connection, fds, &wanted, &answer);
    prepared->stored = ndk_cache_look(fds);
    close(fds[0]);
    close(fds[1]);
    return code ? code : take_number(prepared, &answer);
}

/* stem: of the files to store it in, or NULL. */
static int compile(struct ndk_prepared *prepared, const ANeuralNetworksModel *model, const char *stem,
                   const struct ndk_settings *settings, struct ndk_connection *connection)
{
    struct ndk_cache_files files;
    struct ndk_buffer message = {0};
    struct ndk_reader answer;
    bool stores = stem && ndk_cache_make(stem, &files);
    int fds[NDK_MOST_FDS] = {model->fd, stores ? files.fds[0] : -1, stores ? files.fds[1] : -1};
    ndk_put_array(&message, 11);
    ndk_put_int(&message, NDK_PREPARE);
    ndk_put_text(&message, settings->preference);
    ndk_put_text(&message, settings->priority);
    ndk_put_nil(&message); /* input_shapes: the model's */
    ndk_put_nil(&message); /* keep */
    ndk_put_deadline(&message, settings->timeout);
    if (stores)
        ndk_put_bytes(&message, settings->cache->token, sizeof settings->cache->token);
    else
        ndk_put_nil(&message);
    ndk_put_bool(&message, false); /* launch */
    ndk_put_int(&message, 0);      /* num_threads: all */
    ndk_put_nil(&message);         /* precision: exact */
    ndk_put_passes(&message, settings->is_reference);
    int code = ndk_call_with(connection, &message, fds, stores ? 3 : 1, NDK_PREPARED, &answer, "Compilation_finish");
    ndk_buffer_free(&message);
    if (!code)
        code = take_number(prepared, &answer);
    if (stores)
        prepared->stored = ndk_cache_end(&files, !code);
    return code;
}

/* Whether a cache holds the very files that a prepared model came from, or was put into. */
static bool is_stored(const struct ndk_prepared *prepared, ANeuralNetworksModel *model, const char *stem)
{
    int fds[2];
    if (!ndk_cache_open(stem, fds))
        return false;
    struct ndk_cache_stamp found = ndk_cache_look(fds);
    close(fds[0]);
    close(fds[1]);
    pthread_mutex_lock(&model->lock);
    bool is_same = ndk_cache_is_same(&found, &prepared->stored);
    pthread_mutex_unlock(&model->lock);
    return is_same;
}

/* Puts a model that was prepared before into the files of a cache. */
static void store(struct ndk_prepared *prepared, ANeuralNetworksModel *model, const struct ndk_settings *settings)
{
    struct ndk_connection *connection;
    struct ndk_cache_files files;
    struct ndk_buffer message = {0};
    struct ndk_reader answer;
    char *stem = prepared->can_run ? ndk_cache_stem(model, settings) : NULL;
    if (!stem || is_stored(prepared, model, stem) || ndk_take(prepared->session, &connection)) {
        free(stem);
        return;
    }
    if (ndk_cache_make(stem, &files)) {
        ndk_put_array(&message, 3);
        ndk_put_int(&message, NDK_STORE);
        ndk_put_int(&message, prepared->number);
        ndk_put_bytes(&message, settings->cache->token, sizeof settings->cache->token);
        int code = ndk_call_with(connection, &message, files.fds, 2, NDK_TEXT, &answer, "Compilation_finish: cache");
        struct ndk_cache_stamp stored = ndk_cache_end(&files, !code);
        ndk_buffer_free(&message);
        pthread_mutex_lock(&model->lock);
        prepared->stored = stored;
        pthread_mutex_unlock(&model->lock);
    }
    ndk_give(connection);
    free(stem);
}

static int make(const ANeuralNetworksModel *model, const struct ndk_settings *settings, struct ndk_prepared *prepared)
{
    struct ndk_connection *connection;
    int code = ndk_session(&prepared->session);
    if (!code)
        code = ndk_take(prepared->session, &connection);
    if (code)
        return code;
    char *stem = settings->cache ? ndk_cache_stem(model, settings) : NULL;
    if (!stem || load(prepared, stem, settings, connection))
        code = compile(prepared, model, stem, settings, connection);
    free(stem);
    ndk_give(connection);
    prepared->can_run = !code;
    /* The model is valid. What the driver cannot run of the standard compiles, and fails when it is computed; only what
     * no device has a meaning for is refused here. */
    return code == ANEURALNETWORKS_BAD_DATA && !ndk_has_foreign_parts(model) ? ANEURALNETWORKS_NO_ERROR : code;
}

/* -- of the model ---------------------------------------------------------------------------------------------------- */
/* Whether runs may keep a processor busy while they wait: all that the driver, too, makes of a preference. */
static bool may_spin(const struct ndk_settings *settings)
{
    return strcmp(settings->preference, "low_power") != 0;
}

static struct ndk_prepared *find(ANeuralNetworksModel *model, const struct ndk_settings *settings)
{
    bool spins = may_spin(settings);
    pthread_mutex_lock(&model->lock);
    struct ndk_prepared *found = model->prepared;
    while (found && (found->spins != spins || found->priority != settings->priority ||
                     found->is_reference != settings->is_reference || ndk_session_has_gone(found->session)))
        found = found->next;
    if (found)
        found->references++;
    pthread_mutex_unlock(&model->lock);
    return found;
}

static void keep(ANeuralNetworksModel *model, struct ndk_prepared *prepared)
{
    pthread_mutex_lock(&model->lock);
    prepared->references++;
    prepared->next = model->prepared;
    model->prepared = prepared;
    pthread_mutex_unlock(&model->lock);
}

int ndk_prepare(const ANeuralNetworksModel *model, const struct ndk_settings *settings, struct ndk_prepared **prepared)
{
    ANeuralNetworksModel *keeper = (ANeuralNetworksModel *)(uintptr_t)model;
    struct ndk_prepared *found = find(keeper, settings);
    *prepared = found;
    if (found) {
        if (settings->cache)
            store(found, keeper, settings);
        return ANEURALNETWORKS_NO_ERROR;
    }
    struct ndk_prepared *made = calloc(1, sizeof *made);
    if (!made)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    made->references = 1;
    made->serial = ndk_serial();
    made->priority = settings->priority;
    made->is_reference = settings->is_reference;
    made->spins = may_spin(settings);
    made->is_small = model->map_size <= SMALL_BYTES;
    int code = make(model, settings, made);
    if (code) {
        ndk_prepared_unref(made);
        return code;
    }
    keep(keeper, made);
    *prepared = made;
    return code;
}

void ndk_prepared_unref(struct ndk_prepared *prepared)
{
    if (!prepared || --prepared->references)
        return;
    ndk_say_end(prepared->serial);
    if (prepared->can_run && prepared->is_small)
        ndk_session_release_later(prepared->session, prepared->number);
    else if (prepared->can_run)
        ndk_session_release(prepared->session, "prepared", prepared->number);
    ndk_session_unref(prepared->session);
    free(prepared);
}

void ndk_prepared_forget(ANeuralNetworksModel *model)
{
    while (model->prepared) {
        struct ndk_prepared *next = model->prepared->next;
        ndk_prepared_unref(model->prepared);
        model->prepared = next;
    }
}
