/* Compiled models in files of the client's directory. */
#ifndef NDK_CACHE_H
#define NDK_CACHE_H

#include "compilation.h"

/* What a directory and a token stand for: two files for this model and these settings. Whatever goes wrong with them,
 * the model is compiled without. */
struct ndk_cache {
    char *directory;
    uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];
};

/* Files to store a compiled model in, under names that nobody looks at. */
struct ndk_cache_files {
    int fds[2];
    char *names[2], *finals[2];
};

/* Opens the stored files of a compilation; false if there are none. */
bool ndk_cache_open(const ANeuralNetworksCompilation *compilation, int fds[2]);

/* Makes files to store it in; false if they cannot be made. */
bool ndk_cache_make(const ANeuralNetworksCompilation *compilation, struct ndk_cache_files *files);

/* Puts them in their place if they were written, or removes them. */
void ndk_cache_end(struct ndk_cache_files *files, bool was_compiled);

#endif
