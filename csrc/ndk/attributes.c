#define _GNU_SOURCE
#include "attributes.h"

#include <stdlib.h>

#include "model.h"
#include "session.h"

int ndk_check_attribute(const void *object, const char *extension, const void *data, size_t length)
{
    return object && extension && (data || !length) ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_UNEXPECTED_NULL;
}

int ndk_add_attribute(struct ndk_attributes *attributes, const char *extension, uint16_t code)
{
    struct ndk_session *session;
    int result = ndk_session(&session);
    if (result)
        return result;
    bool is_known = ndk_session_extension(session, extension) != NULL;
    ndk_session_unref(session);
    uint32_t prefix = is_known ? ndk_prefix_of(extension) : 0, token = prefix << 16 | code;
    if (!prefix)
        return ANEURALNETWORKS_BAD_DATA;
    for (size_t i = 0; i < attributes->count; i++)
        if (attributes->tokens[i] == token)
            return ANEURALNETWORKS_BAD_DATA;
    uint32_t *tokens = realloc(attributes->tokens, (attributes->count + 1) * sizeof *tokens);
    if (!tokens)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    tokens[attributes->count++] = token;
    attributes->tokens = tokens;
    return ANEURALNETWORKS_NO_ERROR;
}

void ndk_free_attributes(struct ndk_attributes *attributes)
{
    free(attributes->tokens);
}
