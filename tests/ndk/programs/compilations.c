#include "cases.h"

static void create(void)
{
    Model *model = plain_add(), *open = new_model();
    Compilation *compilation = (Compilation *)1;
    IS(ANeuralNetworksCompilation_create(NULL, &compilation), N);
    IS(ANeuralNetworksCompilation_create(model, NULL), N);
    IS(ANeuralNetworksCompilation_create(open, &compilation), S);
    TRUE_(!compilation);
    IS(ANeuralNetworksCompilation_create(model, &compilation), OK);
    ANeuralNetworksCompilation_free(compilation); /* unfinished */
    ANeuralNetworksCompilation_free(NULL);
    ANeuralNetworksModel_free(open);
    ANeuralNetworksModel_free(model);
}

static void create_for_devices(void)
{
    Model *model = plain_add(), *open = new_model();
    Compilation *compilation;
    const Device *both[] = {device(0), device(1)}, *same[] = {both[0], both[0]}, *none[] = {both[0], NULL};
    IS(ANeuralNetworksCompilation_createForDevices(NULL, both, 1, &compilation), N);
    IS(ANeuralNetworksCompilation_createForDevices(model, both, 1, NULL), N);
    IS(ANeuralNetworksCompilation_createForDevices(model, NULL, 0, &compilation), N);
    IS(ANeuralNetworksCompilation_createForDevices(model, NULL, 1, &compilation), N);
    IS(ANeuralNetworksCompilation_createForDevices(model, both, 0, &compilation), D);
    IS(ANeuralNetworksCompilation_createForDevices(model, same, 2, &compilation), D);
    IS(ANeuralNetworksCompilation_createForDevices(model, none, 2, &compilation), N);
    IS(ANeuralNetworksCompilation_createForDevices(open, both, 1, &compilation), S);
    for (uint32_t count = 1; count <= 2; count++) {
        IS(ANeuralNetworksCompilation_createForDevices(model, both, count, &compilation), OK);
        ANeuralNetworksCompilation_free(compilation); /* unfinished */
        IS(ANeuralNetworksCompilation_createForDevices(model, both, count, &compilation), OK);
        IS(ANeuralNetworksCompilation_finish(compilation), OK);
        ANeuralNetworksCompilation_free(compilation);
    }
    ANeuralNetworksModel_free(open);
    ANeuralNetworksModel_free(model);
}

/* Settings of a compilation for so many devices; 0: for none that is named. */
static void settings_for(uint32_t devices)
{
    static const int priorities[] = {0, 89, 91, 99, 101, 109, 111};
    static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];
    const Device *both[] = {device(0), device(1)};
    Model *model = plain_add();
    Compilation *compilation;
    IS(devices ? ANeuralNetworksCompilation_createForDevices(model, both, devices, &compilation)
               : ANeuralNetworksCompilation_create(model, &compilation), OK);
    IS(ANeuralNetworksCompilation_setPreference(NULL, 1), N);
    IS(ANeuralNetworksCompilation_setPreference(compilation, 40), D);
    IS(ANeuralNetworksCompilation_setPreference(compilation, -1), D);
    for (int preference = 0; preference <= 2; preference++)
        IS(ANeuralNetworksCompilation_setPreference(compilation, preference), OK);
    IS(ANeuralNetworksCompilation_setPriority(NULL, 100), N);
    for (size_t i = 0; i < sizeof priorities / sizeof *priorities; i++)
        IS(ANeuralNetworksCompilation_setPriority(compilation, priorities[i]), D);
    for (int priority = 110; priority >= 90; priority -= 10)
        IS(ANeuralNetworksCompilation_setPriority(compilation, priority), OK);
    IS(ANeuralNetworksCompilation_setTimeout(NULL, 1000000000), N);
    IS(ANeuralNetworksCompilation_setTimeout(compilation, UINT64_MAX), devices == 1 ? OK : D);
    IS(ANeuralNetworksCompilation_finish(NULL), N);
    IS(ANeuralNetworksCompilation_finish(compilation), OK);
    IS(ANeuralNetworksCompilation_setPreference(compilation, 1), S);
    IS(ANeuralNetworksCompilation_setPriority(compilation, 100), S);
    IS(ANeuralNetworksCompilation_setTimeout(compilation, 1), S);
    IS(ANeuralNetworksCompilation_setCaching(compilation, "/tmp", token), S);
    IS(ANeuralNetworksCompilation_finish(compilation), S);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void settings(void)
{
    for (uint32_t devices = 0; devices <= 2; devices++)
        settings_for(devices);
}

static void timeouts(void)
{
    static const uint64_t durations[] = {0, UINT64_MAX, 100000000000};
    Model *model = plain_add();
    const Device *one = device(0), *both[] = {one, device(1)};
    Compilation *compilation;
    IS(ANeuralNetworksCompilation_createForDevices(model, &one, 1, &compilation), OK);
    IS(ANeuralNetworksCompilation_setTimeout(compilation, 1), OK);
    IS(ANeuralNetworksCompilation_finish(compilation), ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT);
    IS(ANeuralNetworksCompilation_finish(compilation), S);
    ANeuralNetworksCompilation_free(compilation);
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
        IS(ANeuralNetworksCompilation_createForDevices(model, &one, 1, &compilation), OK);
        IS(ANeuralNetworksCompilation_setTimeout(compilation, durations[i]), OK);
        IS(ANeuralNetworksCompilation_finish(compilation), OK);
        ANeuralNetworksCompilation_free(compilation);
    }
    IS(ANeuralNetworksCompilation_createForDevices(model, both, 2, &compilation), OK);
    IS(ANeuralNetworksCompilation_setTimeout(compilation, 1000000000), D);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void preferred_memory(void)
{
    int (*const functions[])(const Compilation *, uint32_t, uint32_t *) = {
        ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput,
        ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput,
        ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput,
        ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput};
    Model *model = plain_add();
    Compilation *compilation;
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        IS(ANeuralNetworksCompilation_create(model, &compilation), OK);
        IS(functions[i](compilation, 0, &value), S);
        IS(ANeuralNetworksCompilation_finish(compilation), OK);
        IS(functions[i](NULL, 0, &value), N);
        IS(functions[i](compilation, 0, NULL), N);
        IS(functions[i](compilation, 1000, &value), D);
        IS(functions[i](compilation, 0, &value), OK);
        TRUE_(value && !(value & (value - 1)));
        ANeuralNetworksCompilation_free(compilation);
    }
    ANeuralNetworksModel_free(model);
}

static void unfinished(void)
{
    Model *model = plain_add();
    Compilation *compilation;
    Execution *execution = (Execution *)1;
    Burst *burst = (Burst *)1;
    IS(ANeuralNetworksCompilation_create(model, &compilation), OK);
    IS(ANeuralNetworksExecution_create(NULL, &execution), N);
    IS(ANeuralNetworksExecution_create(compilation, NULL), N);
    IS(ANeuralNetworksExecution_create(compilation, &execution), S);
    TRUE_(!execution);
    IS(ANeuralNetworksBurst_create(NULL, &burst), N);
    IS(ANeuralNetworksBurst_create(compilation, NULL), N);
    IS(ANeuralNetworksBurst_create(compilation, &burst), S);
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

/* One model, two compilations, used from many threads at once. */
static Model *common;

static void *compile_and_run(void *unused)
{
    (void)unused;
    Compilation *compilation = compiled(common);
    for (int i = 0; i < 5; i++) {
        struct sums sums = {{(float)i, 2}, {3, 4}, {0}, 0};
        Execution *execution = new_execution(compilation);
        give(execution, &sums);
        IS(compute_by((enum way)(i % WAYS), execution, compilation), OK);
        TRUE_(sums.z[0] == (float)i + 3 && sums.z[1] == 6);
        ANeuralNetworksExecution_free(execution);
    }
    ANeuralNetworksCompilation_free(compilation);
    return NULL;
}

static void many_threads(void)
{
    pthread_t threads[10];
    common = plain_add();
    for (int i = 0; i < 10; i++)
        IS(pthread_create(&threads[i], NULL, compile_and_run, NULL), 0);
    for (int i = 0; i < 10; i++)
        pthread_join(threads[i], NULL);
    ANeuralNetworksModel_free(common);
}

static const struct test tests[] = {
    {"create", create}, {"create_for_devices", create_for_devices}, {"settings", settings}, {"timeouts", timeouts},
    {"preferred_memory", preferred_memory}, {"unfinished", unfinished}, {"many_threads", many_threads},
};
MAIN(tests)
