/* Lines on stderr for those who ask for them by NNFAST_VLOG (docs/logging.md): why a call was refused. */
#ifndef NDK_LOG_H
#define NDK_LOG_H

#include <stddef.h>

/* where: function that refuses, without its prefix; text: `size` bytes of the reason. */
void ndk_log(const char *where, const char *text, size_t size);

/* The reason of this thread's last refusal. */
const char *ndk_reason(void);

#endif
