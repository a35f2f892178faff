/* Attributes of extensions: hints for one compilation or execution. The extensions of this driver have none that they
 * look at, so that only the names are kept, which may not come twice. */
#ifndef NDK_ATTRIBUTES_H
#define NDK_ATTRIBUTES_H

#include <stddef.h>
#include <stdint.h>

struct ndk_attributes {
    uint32_t *tokens; /* prefix of the extension and code of the attribute, as those of types */
    size_t count;
};

/* UNEXPECTED_NULL for arguments that must be there. */
int ndk_check_attribute(const void *object, const char *extension, const void *data, size_t length);

/* BAD_DATA for an extension that the driver does not have, and for an attribute that is there. */
int ndk_add_attribute(struct ndk_attributes *attributes, const char *extension, uint16_t code);
void ndk_free_attributes(struct ndk_attributes *attributes);

#endif
