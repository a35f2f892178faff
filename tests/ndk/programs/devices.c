#include "cases.h"

static void count_and_get(void)
{
    uint32_t count = 0;
    Device *found = NULL, *again;
    IS(ANeuralNetworks_getDeviceCount(NULL), N);
    IS(ANeuralNetworks_getDeviceCount(&count), OK);
    IS(count, 2);
    IS(ANeuralNetworks_getDevice(0, NULL), N);
    IS(ANeuralNetworks_getDevice(count, &found), D);
    TRUE_(!found);
    for (uint32_t i = 0; i < count; i++) {
        IS(ANeuralNetworks_getDevice(i, &found), OK);
        IS(ANeuralNetworks_getDevice(i, &again), OK);
        TRUE_(found && found == again);
    }
}

static void names(void)
{
    const char *first, *second;
    IS(ANeuralNetworksDevice_getName(NULL, &first), N);
    IS(ANeuralNetworksDevice_getName(device(0), NULL), N);
    IS(ANeuralNetworksDevice_getName(device(0), &first), OK);
    IS(ANeuralNetworksDevice_getName(device(1), &second), OK);
    IS(strcmp(first, "nnfast"), 0);
    IS(strcmp(second, "nnapi-reference"), 0);
}

static void versions(void)
{
    const char *version = NULL, *again = NULL;
    IS(ANeuralNetworksDevice_getVersion(NULL, &version), N);
    IS(ANeuralNetworksDevice_getVersion(device(0), NULL), N);
    IS(ANeuralNetworksDevice_getVersion(device(0), &version), OK);
    IS(ANeuralNetworksDevice_getVersion(device(0), &again), OK);
    TRUE_(version && version == again && *version);
}

static void types(void)
{
    int32_t type = -1;
    IS(ANeuralNetworksDevice_getType(NULL, &type), N);
    IS(ANeuralNetworksDevice_getType(device(0), NULL), N);
    IS(ANeuralNetworksDevice_getType(device(0), &type), OK);
    IS(type, ANEURALNETWORKS_DEVICE_CPU);
}

static void levels(void)
{
    int64_t level = 0;
    IS(ANeuralNetworksDevice_getFeatureLevel(NULL, &level), N);
    IS(ANeuralNetworksDevice_getFeatureLevel(device(0), NULL), N);
    IS(ANeuralNetworksDevice_getFeatureLevel(device(0), &level), OK);
    IS(level, 1000008);
    IS(ANeuralNetworks_getRuntimeFeatureLevel(), 1000008);
    IS(ANeuralNetworks_getDefaultLoopTimeout(), 2000000000);
    IS(ANeuralNetworks_getMaximumLoopTimeout(), 15000000000);
}

static void wait_for_them(void)
{
    IS(ANeuralNetworksDevice_wait(NULL), N);
    IS(ANeuralNetworksDevice_wait(device(0)), OK);
    IS(ANeuralNetworksDevice_wait(device(1)), OK);
}

static void extensions(void)
{
    bool is_there = true;
    IS(ANeuralNetworksDevice_getExtensionSupport(NULL, "com.example.none", &is_there), N);
    IS(ANeuralNetworksDevice_getExtensionSupport(device(0), NULL, &is_there), N);
    IS(ANeuralNetworksDevice_getExtensionSupport(device(0), "com.example.none", NULL), N);
    IS(ANeuralNetworksDevice_getExtensionSupport(device(0), "com.example.none", &is_there), OK);
    TRUE_(!is_there);
}

static const struct test tests[] = {
    {"count_and_get", count_and_get}, {"names", names}, {"versions", versions}, {"types", types}, {"levels", levels},
    {"wait_for_them", wait_for_them}, {"extensions", extensions},
};
MAIN(tests)
