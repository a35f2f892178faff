/* A compilation that runs often goes through rings in shared memory after a while: with the same results, codes and rules. */
#include "cases.h"

enum { RUNS = 40, THREADS = 8 };

static Execution *reusable(Compilation *compilation)
{
    Execution *execution = new_execution(compilation);
    IS(ANeuralNetworksExecution_setReusable(execution, true), OK);
    return execution;
}

static void every_way(void)
{
    struct sums sums = {.activation = 0};
    uint32_t rank = 0, dims[1] = {0};
    Model *model = plain_add();
    Compilation *compilation = compiled(model);
    Execution *execution = reusable(compilation);
    give(execution, &sums);
    for (int i = 0; i < RUNS * WAYS; i++) {
        sums.x[0] = (float)i;
        sums.y[1] = (float)-i;
        sums.activation = i % 3 == 2 ? ANEURALNETWORKS_FUSED_RELU : ANEURALNETWORKS_FUSED_NONE;
        IS(compute_by((enum way)(i % WAYS), execution, compilation), OK);
        TRUE_(sums.z[0] == (float)i && sums.z[1] == (i % 3 == 2 ? 0 : (float)-i));
        IS(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank), OK);
        IS(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims), OK);
        TRUE_(rank == 1 && dims[0] == 2);
    }
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

/* Memories come and go, at the places of others; one burst sees them all. */
static void memories(void)
{
    enum { KEPT = 6 };
    Memory *kept[KEPT];
    float *bytes[KEPT], *own;
    int32_t none = 0;
    Burst *burst;
    Model *model = plain_add();
    Compilation *compilation = compiled(model);
    IS(ANeuralNetworksBurst_create(compilation, &burst), OK);
    for (int i = 0; i < KEPT; i++)
        kept[i] = shared(64, (void **)&bytes[i]);
    for (int i = 0; i < 2 * RUNS; i++) {
        Memory *new = shared(24, (void **)&own);
        int k = i % KEPT;
        Execution *execution = new_execution(compilation);
        own[2] = bytes[k][4] = (float)i;
        own[3] = bytes[k][5] = 1;
        own[4] = own[5] = -1;
        IS(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, kept[k], 16, 8), OK);
        IS(ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, new, 8, 8), OK);
        IS(ANeuralNetworksExecution_setInput(execution, 2, NULL, &none, 4), OK);
        IS(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, i % 2 ? new : kept[(i + 1) % KEPT], 16, 8),
           OK);
        IS(ANeuralNetworksExecution_burstCompute(execution, burst), OK);
        const float *found = i % 2 ? own + 4 : bytes[(i + 1) % KEPT] + 4;
        TRUE_(found[0] == (float)(2 * i) && found[1] == 2);
        ANeuralNetworksExecution_free(execution);
        ANeuralNetworksMemory_free(new);
        munmap(own, 24);
    }
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    for (int i = 0; i < KEPT; i++)
        ANeuralNetworksMemory_free(kept[i]);
}

/* GATHER: an index that is out of range fails its run, and no other. */
static void failures(void)
{
    static const uint32_t four[] = {4}, inputs[] = {0, 1, 2}, outputs[] = {3}, given[] = {0, 2};
    static const float x[] = {10, 11, 12, 13};
    static const int32_t axis;
    int32_t index[2];
    float y[2];
    Model *model = new_model();
    add(model, FLOAT_OF(four));
    add(model, INT);
    add(model, (Type){ANEURALNETWORKS_TENSOR_INT32, 1, TWO, 0, 0});
    add(model, FLOAT2);
    IS(ANeuralNetworksModel_setOperandValue(model, 1, &axis, 4), OK);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_GATHER, 3, inputs, 1, outputs), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, given, 1, outputs), OK);
    Compilation *compilation = compiled(finished(model));
    Execution *execution = reusable(compilation);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof x), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 1, NULL, index, sizeof index), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, y, sizeof y), OK);
    for (int i = 0; i < RUNS; i++) {
        index[0] = i % 4;
        index[1] = i % 5 == 4 ? 4 : 3;
        IS(ANeuralNetworksExecution_compute(execution), i % 5 == 4 ? F : OK);
        if (i % 5 != 4)
            TRUE_(y[0] == x[i % 4] && y[1] == 13);
    }
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

/* Values of all sizes, outputs without room and outputs that nobody wants. */
static void sizes(void)
{
    enum { MOST = 1 << 17 };
    static float x[MOST], z[MOST];
    Type open = FLOAT_OF(OPEN);
    int32_t none = 0;
    Model *model = finished(add_model(open, open, open));
    Compilation *compilation = compiled(model);
    for (uint32_t i = 0; i < RUNS; i++) {
        uint32_t count[] = {1 + (i * 7919) % 61 + (i > 30 ? MOST / 2 : 0)}, dims[1] = {0};
        Type given = FLOAT_OF(count);
        bool has_room = i % 4 != 3, is_wanted = i % 4 != 2;
        x[count[0] - 1] = (float)i;
        Execution *execution = new_execution(compilation);
        IS(ANeuralNetworksExecution_setInput(execution, 0, &given, x, 4 * count[0]), OK);
        IS(ANeuralNetworksExecution_setInput(execution, 1, &given, x, 4 * count[0]), OK);
        IS(ANeuralNetworksExecution_setInput(execution, 2, NULL, &none, 4), OK);
        IS(is_wanted ? ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, has_room ? sizeof z : 1)
                     : ANeuralNetworksExecution_setOutput(execution, 0, NULL, NULL, 0), OK);
        int code = ANeuralNetworksExecution_compute(execution);
        IS(code, has_room ? OK : SIZE);
        IS(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims), code);
        TRUE_(dims[0] == count[0]);
        if (has_room && is_wanted)
            TRUE_(z[count[0] - 1] == (float)(2 * i));
        ANeuralNetworksExecution_free(execution);
    }
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void timing(void)
{
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    Model *model = plain_add();
    Compilation *compilation = compiled_for_one(model);
    Execution *execution = reusable(compilation);
    IS(ANeuralNetworksExecution_setMeasureTiming(execution, true), OK);
    give(execution, &sums);
    for (int i = 0; i < RUNS; i++) {
        uint64_t on_device = 7, in_driver = 7;
        IS(ANeuralNetworksExecution_compute(execution), OK);
        IS(ANeuralNetworksExecution_getDuration(execution, ANEURALNETWORKS_DURATION_ON_HARDWARE, &on_device), OK);
        IS(ANeuralNetworksExecution_getDuration(execution, ANEURALNETWORKS_DURATION_IN_DRIVER, &in_driver), OK);
        TRUE_(on_device <= in_driver && in_driver != 7);
    }
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void *run_often(void *compilation)
{
    struct sums sums = {.activation = 0};
    Execution *execution = reusable(compilation);
    give(execution, &sums);
    for (int i = 0; i < RUNS; i++) {
        sums.x[0] = (float)i;
        IS(ANeuralNetworksExecution_compute(execution), OK);
        TRUE_(sums.z[0] == (float)i);
    }
    ANeuralNetworksExecution_free(execution);
    return NULL;
}

static void threads(void)
{
    pthread_t others[THREADS];
    Model *model = plain_add();
    Compilation *compilation = compiled(model);
    for (int i = 0; i < THREADS; i++)
        IS(pthread_create(&others[i], NULL, run_often, compilation), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(others[i], NULL);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

/* As many models as have rings of their own, and more. */
static void models(void)
{
    enum { MODELS = 40 };
    Model *made[MODELS];
    Compilation *compilations[MODELS];
    for (int i = 0; i < MODELS; i++) {
        made[i] = plain_add();
        compilations[i] = compiled(made[i]);
        run_often(compilations[i]);
    }
    for (int i = 0; i < MODELS; i++) {
        run_often(compilations[i]);
        ANeuralNetworksCompilation_free(compilations[i]);
        ANeuralNetworksModel_free(made[i]);
    }
}

static const struct test tests[] = {
    {"every_way", every_way}, {"memories", memories}, {"failures", failures}, {"sizes", sizes}, {"timing", timing},
    {"threads", threads}, {"models", models},
};
MAIN(tests)
