/* Types of operands, and numbers of extensions. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { LAST_TYPE = ANEURALNETWORKS_MODEL, OEM_SCALAR = 10000, TENSOR_OEM_BYTE = 10001, MAX_PREFIX = 65535 };

/* zero: lowest and highest zero point; has_scale: the scale must be above 0. */
static const struct {
    uint8_t size;
    bool is_tensor, has_scale;
    int32_t zero_low, zero_high;
    const char *dtype;
} types[LAST_TYPE + 1] = {
    [ANEURALNETWORKS_FLOAT32] = {4, false, false, 0, 0, "<f4"},
    [ANEURALNETWORKS_INT32] = {4, false, false, 0, 0, "<i4"},
    [ANEURALNETWORKS_UINT32] = {4, false, false, 0, 0, "<u4"},
    [ANEURALNETWORKS_TENSOR_FLOAT32] = {4, true, false, 0, 0, "<f4"},
    [ANEURALNETWORKS_TENSOR_INT32] = {4, true, false, INT32_MIN, INT32_MAX, "<i4"},
    [ANEURALNETWORKS_TENSOR_QUANT8_ASYMM] = {1, true, true, 0, 255, "|u1"},
    [ANEURALNETWORKS_BOOL] = {1, false, false, 0, 0, "|u1"},
    [ANEURALNETWORKS_TENSOR_QUANT16_SYMM] = {2, true, true, 0, 0, "<i2"},
    [ANEURALNETWORKS_TENSOR_FLOAT16] = {2, true, false, 0, 0, "<f2"},
    [ANEURALNETWORKS_TENSOR_BOOL8] = {1, true, false, 0, 0, "|u1"},
    [ANEURALNETWORKS_FLOAT16] = {2, false, false, 0, 0, "<f2"},
    [ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL] = {1, true, false, 0, 0, "|i1"},
    [ANEURALNETWORKS_TENSOR_QUANT16_ASYMM] = {2, true, true, 0, 65535, "<u2"},
    [ANEURALNETWORKS_TENSOR_QUANT8_SYMM] = {1, true, true, 0, 0, "|i1"},
    [ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED] = {1, true, true, -128, 127, "|i1"},
    [ANEURALNETWORKS_MODEL] = {0, false, false, 0, 0, "<u4"},
};

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static char **names; /* by prefix - 1, never freed: whoever has read one keeps it */
static uint16_t name_count;

uint16_t ndk_prefix(int32_t code)
{
    return (uint16_t)((uint32_t)code >> 16);
}

uint16_t ndk_prefix_of(const char *name)
{
    uint16_t prefix = 0;
    pthread_mutex_lock(&names_lock);
    while (prefix < name_count && strcmp(names[prefix], name))
        prefix++;
    if (prefix == name_count && name_count < MAX_PREFIX) {
        char **more = realloc(names, (name_count + (size_t)1) * sizeof *names);
        if (more)
            names = more;
        if (more && (names[name_count] = strdup(name)))
            name_count++;
    }
    prefix = prefix < name_count ? (uint16_t)(prefix + 1) : 0;
    pthread_mutex_unlock(&names_lock);
    return prefix;
}

const char *ndk_extension_name(uint16_t prefix)
{
    pthread_mutex_lock(&names_lock);
    const char *name = prefix && prefix <= name_count ? names[prefix - 1] : NULL;
    pthread_mutex_unlock(&names_lock);
    return name;
}

static int extension_type(int32_t type, size_t *size, bool *is_tensor)
{
    const char *name = ndk_extension_name(ndk_prefix(type));
    struct ndk_session *session;
    if (!name)
        return ANEURALNETWORKS_BAD_DATA;
    int code = ndk_session(&session);
    if (code)
        return code;
    const struct ndk_extension *extension = ndk_session_extension(session, name);
    code = ANEURALNETWORKS_BAD_DATA;
    for (size_t i = 0; extension && i < extension->count; i++)
        if (extension->types[i].id == (uint16_t)type) {
            *size = extension->types[i].size;
            *is_tensor = extension->types[i].is_tensor;
            code = ANEURALNETWORKS_NO_ERROR;
        }
    ndk_session_unref(session);
    return code;
}

int ndk_type(int32_t type, size_t *size, bool *is_tensor)
{
    if (ndk_prefix(type))
        return extension_type(type, size, is_tensor);
    if (type == OEM_SCALAR || type == TENSOR_OEM_BYTE) {
        *size = type == TENSOR_OEM_BYTE;
        *is_tensor = type == TENSOR_OEM_BYTE;
        return ANEURALNETWORKS_NO_ERROR;
    }
    if (type < 0 || type > LAST_TYPE)
        return ANEURALNETWORKS_BAD_DATA;
    *size = types[type].size;
    *is_tensor = types[type].is_tensor;
    return ANEURALNETWORKS_NO_ERROR;
}

uint64_t ndk_bytes(int32_t type, uint32_t rank, const uint32_t *dims)
{
    size_t size;
    bool is_tensor;
    if (ndk_type(type, &size, &is_tensor) || (is_tensor && !rank))
        return 0;
    uint64_t bytes = size;
    for (uint32_t i = 0; i < rank; i++)
        if (!dims[i])
            return 0;
    for (uint32_t i = 0; i < rank; i++) {
        bytes *= dims[i]; /* both below 2^32 */
        if (bytes > UINT32_MAX)
            return UINT64_MAX;
    }
    return bytes;
}

int ndk_check_type(const ANeuralNetworksOperandType *type)
{
    size_t size;
    bool is_tensor;
    if (!type->dimensions != !type->dimensionCount)
        return ANEURALNETWORKS_BAD_DATA;
    int code = ndk_type(type->type, &size, &is_tensor);
    if (code)
        return code;
    if ((!is_tensor && type->dimensionCount) ||
        ndk_bytes(type->type, type->dimensionCount, type->dimensions) == UINT64_MAX)
        return ANEURALNETWORKS_BAD_DATA;
    if (ndk_prefix(type->type))
        return type->scale == 0 && type->zeroPoint == 0 ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_DATA;
    if (type->type > LAST_TYPE || type->type == ANEURALNETWORKS_TENSOR_INT32)
        return ANEURALNETWORKS_NO_ERROR;
    bool fits = types[type->type].has_scale ? type->scale > 0 : type->scale == 0;
    fits &= type->zeroPoint >= types[type->type].zero_low && type->zeroPoint <= types[type->type].zero_high;
    return fits ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_DATA;
}

const char *ndk_dtype(int32_t type)
{
    return type >= 0 && type <= LAST_TYPE ? types[type].dtype : "|u1";
}
