/* What the driver thinks of an operation or a model, asked for once in a process. A hash that takes two questions for one
 * misleads nobody but the client that found them: the driver looks at each model again when it prepares it. */
#ifndef NDK_OPINIONS_H
#define NDK_OPINIONS_H

#include <stddef.h>
#include <stdint.h>

enum { NDK_NO_OPINION = -1 };

struct ndk_question {
    uint64_t parts[2];
};

struct ndk_question ndk_question(const uint8_t *bytes, size_t size);

/* The code of a question that was answered before, or NDK_NO_OPINION. */
int ndk_opinion(struct ndk_question question);

/* Keeps the code of a question, if it is one of those that stay the same. */
void ndk_keep_opinion(struct ndk_question question, int code);

#endif
