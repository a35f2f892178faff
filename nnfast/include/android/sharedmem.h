/* Memory that processes share. */
#ifndef ANDROID_SHARED_MEMORY_H
#define ANDROID_SHARED_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Descriptor of new memory of `size` zero bytes, which cannot change its size; -1 with errno. name: may be NULL. The
 * driver maps such memory, and copies what lies in files of other kinds. */
int ASharedMemory_create(const char *name, size_t size);

#ifdef __cplusplus
}
#endif
#endif
