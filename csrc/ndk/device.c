/* Devices. Both are the driver's process: nnfast runs kernels, nnapi-reference the definitions of operations in numpy.
 * TFLite delegates nothing where the only device is nnapi-reference. */
#define _GNU_SOURCE
#include "device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

struct ANeuralNetworksDevice {
    const char *name;
};

enum { FAST, REFERENCE, COUNT };
static ANeuralNetworksDevice devices[COUNT] = {{"nnfast"}, {"nnapi-reference"}};

static pthread_mutex_t version_lock = PTHREAD_MUTEX_INITIALIZER;
static char *version_text;

static bool is_ours(const ANeuralNetworksDevice *device)
{
    for (int i = 0; i < COUNT; i++)
        if (device == &devices[i])
            return true;
    return false;
}

int ndk_check_devices(const ANeuralNetworksDevice *const *list, uint32_t count)
{
    bool all_ours = count > 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!list[i])
            return ANEURALNETWORKS_UNEXPECTED_NULL;
        all_ours &= is_ours(list[i]);
        /* No more than the first COUNT of ours are looked for without being found. */
        for (uint32_t k = i + 1; k < count && is_ours(list[i]); k++)
            if (list[k] == list[i])
                return ANEURALNETWORKS_BAD_DATA;
    }
    return all_ours ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_DATA;
}

bool ndk_is_reference(const ANeuralNetworksDevice *device)
{
    return device == &devices[REFERENCE];
}

int ANeuralNetworks_getDeviceCount(uint32_t *numDevices)
{
    if (!numDevices)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *numDevices = COUNT;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice **device)
{
    if (!device)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (devIndex >= COUNT)
        return ANEURALNETWORKS_BAD_DATA;
    *device = &devices[devIndex];
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice *device, const char **name)
{
    if (!device || !name)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *name = device->name;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice *device, int32_t *type)
{
    if (!device || !type)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *type = ANEURALNETWORKS_DEVICE_CPU;
    return ANEURALNETWORKS_NO_ERROR;
}

/* The driver's version at the first question: it stays the same for the life of the process. */
int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice *device, const char **version)
{
    struct ndk_session *session;
    if (!device || !version)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    pthread_mutex_lock(&version_lock);
    int code = version_text ? ANEURALNETWORKS_NO_ERROR : ndk_session(&session);
    if (!code && !version_text) {
        version_text = strdup(ndk_session_driver(session));
        code = version_text ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUT_OF_MEMORY;
        ndk_session_unref(session);
    }
    if (!code)
        *version = version_text;
    pthread_mutex_unlock(&version_lock);
    return code;
}

int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice *device, int64_t *featureLevel)
{
    if (!device || !featureLevel)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *featureLevel = ANeuralNetworks_getRuntimeFeatureLevel();
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice *device)
{
    struct ndk_session *session;
    if (!device)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = ndk_session(&session);
    ndk_session_unref(session);
    return code;
}

int ANeuralNetworksDevice_getExtensionSupport(const ANeuralNetworksDevice *device, const char *extensionName,
                                              bool *isExtensionSupported)
{
    struct ndk_session *session;
    if (!device || !extensionName || !isExtensionSupported)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = ndk_session(&session);
    if (!code)
        *isExtensionSupported = ndk_session_extension(session, extensionName) != NULL;
    ndk_session_unref(session);
    return code;
}

int64_t ANeuralNetworks_getRuntimeFeatureLevel(void)
{
    return ANEURALNETWORKS_FEATURE_LEVEL_8;
}

uint64_t ANeuralNetworks_getDefaultLoopTimeout(void)
{
    return UINT64_C(2000000000);
}

uint64_t ANeuralNetworks_getMaximumLoopTimeout(void)
{
    return UINT64_C(15000000000);
}
