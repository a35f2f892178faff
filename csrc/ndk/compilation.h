/* Compilations as the library keeps them. */
#ifndef NDK_COMPILATION_H
#define NDK_COMPILATION_H

#include "attributes.h"
#include "prepared.h"

/* is_single: made for one device. prepared: once it is ready. */
struct ANeuralNetworksCompilation {
    const ANeuralNetworksModel *model;
    enum ndk_state state;
    bool is_single;
    struct ndk_settings settings;
    struct ndk_attributes attributes;
    struct ndk_prepared *prepared;
};

#endif
