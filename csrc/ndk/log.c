#include "log.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_on;
static _Thread_local char last[1000];

static void look(void)
{
    const char *tags = getenv("NNFAST_VLOG");
    while (tags && *tags) {
        size_t size = strcspn(tags, " ,:");
        /* The library has the tags of its driver whose lines a client can cause. */
        static const char *const known[] = {"1", "all", "model", "compilation", "execution", "memory", "driver"};
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_on |= strlen(known[i]) == size && !strncmp(tags, known[i], size);
        tags += size + (tags[size] != 0);
    }
}

void ndk_log(const char *where, const char *text, size_t size)
{
    size_t kept = size < sizeof last ? size : sizeof last - 1;
    memcpy(last, text, kept);
    last[kept] = 0;
    pthread_once(&once, look);
    if (is_on)
        fprintf(stderr, "libneuralnetworks: %s: %s\n", where, last);
}

const char *ndk_reason(void)
{
    return last;
}
