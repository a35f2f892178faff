/* Compilations. */
#define _GNU_SOURCE
#include "compilation.h"

#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "device.h"

enum { ALIGNMENT = NDK_LINE };

static const char *const preferences[] = {"low_power", "fast_single_answer", "sustained_speed"};
static const char *const priorities[] = {"low", "medium", "high"};

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
    made->settings.preference = preferences[ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER];
    made->settings.priority = priorities[1];
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
    if (!code)
        code = create(model, numDevices == 1, compilation);
    if (!code) /* of several devices the fastest */
        (*compilation)->settings.is_reference = numDevices == 1 && ndk_is_reference(devices[0]);
    return code;
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
    ndk_prepared_unref(compilation->prepared);
    free_cache(compilation->settings.cache);
    ndk_free_attributes(&compilation->attributes);
    free(compilation);
}

/* -- settings -------------------------------------------------------------------------------------------------------- */
int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation *compilation, int32_t preference)
{
    if (!compilation)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (compilation->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    if (preference < 0 || preference > ANEURALNETWORKS_PREFER_SUSTAINED_SPEED)
        return ANEURALNETWORKS_BAD_DATA;
    compilation->settings.preference = preferences[preference];
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation *compilation, int priority)
{
    if (!compilation)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (compilation->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    switch (priority) {
    case ANEURALNETWORKS_PRIORITY_LOW: compilation->settings.priority = priorities[0]; break;
    case ANEURALNETWORKS_PRIORITY_MEDIUM: compilation->settings.priority = priorities[1]; break;
    case ANEURALNETWORKS_PRIORITY_HIGH: compilation->settings.priority = priorities[2]; break;
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
    compilation->settings.timeout = duration;
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
    free_cache(compilation->settings.cache);
    compilation->settings.cache = cache;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksCompilation_addExtensionAttribute(ANeuralNetworksCompilation *compilation,
                                                     const char *extensionName, uint16_t attributeCodeWithinExtension,
                                                     const void *data, size_t length)
{
    int code = ndk_check_attribute(compilation, extensionName, data, length);
    if (code)
        return code;
    if (compilation->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    if (!compilation->is_single)
        return ANEURALNETWORKS_BAD_DATA;
    return ndk_add_attribute(&compilation->attributes, extensionName, attributeCodeWithinExtension);
}

/* -- the end --------------------------------------------------------------------------------------------------------- */
int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation *compilation)
{
    if (!compilation)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (compilation->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    int code = ndk_prepare(compilation->model, &compilation->settings, &compilation->prepared);
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
