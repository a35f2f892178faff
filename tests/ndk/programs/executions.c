#include "cases.h"

static Model *model;
static Compilation *compilation;

static Execution *begin(void)
{
    model = plain_add();
    compilation = compiled(model);
    return new_execution(compilation);
}

static void end(Execution *execution)
{
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void free_unstarted(void)
{
    end(begin());
    ANeuralNetworksExecution_free(NULL);
}

static void set_input(void)
{
    static const float values[5];
    Execution *execution = begin();
    IS(ANeuralNetworksExecution_setInput(NULL, 0, NULL, values, 8), N);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, NULL, 8), N);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, values, 20), D);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, values, 0), D);
    IS(ANeuralNetworksExecution_setInput(execution, 999, NULL, values, 8), D);
    IS(ANeuralNetworksExecution_setInput(execution, -1, NULL, values, 8), D);
    IS(ANeuralNetworksExecution_setInput(execution, 0, &NO_DIMS, values, 8), D);
    IS(ANeuralNetworksExecution_setInput(execution, 0, &NO_COUNT, values, 8), D);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, values, 8), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, values, 8), S);
    end(execution);
}

static void set_output(void)
{
    float values[5];
    Execution *execution = begin();
    IS(ANeuralNetworksExecution_setOutput(NULL, 0, NULL, values, 8), N);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, NULL, 8), N);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, values, 20), D);
    IS(ANeuralNetworksExecution_setOutput(execution, 999, NULL, values, 8), D);
    IS(ANeuralNetworksExecution_setOutput(execution, -1, NULL, values, 8), D);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, &NO_DIMS, values, 8), D);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, &NO_COUNT, values, 8), D);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, values, 8), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, values, 8), S);
    end(execution);
}

static void set_from_memory(void)
{
    int (*const functions[])(Execution *, int32_t, const Type *, const Memory *, size_t, size_t) = {
        ANeuralNetworksExecution_setInputFromMemory, ANeuralNetworksExecution_setOutputFromMemory};
    Memory *memories[] = {shared(20, NULL), blob_memory(20)};
    float values[2];
    for (int k = 0; k < 4; k++) {
        int i = k / 2;
        Memory *memory = memories[k % 2];
        Execution *execution = begin();
        IS(functions[i](NULL, 0, NULL, memory, 0, 8), N);
        IS(functions[i](execution, 0, NULL, NULL, 0, 8), N);
        IS(functions[i](execution, 999, NULL, memory, 0, 8), D);
        IS(functions[i](execution, -1, NULL, memory, 0, 8), D);
        IS(functions[i](execution, 0, NULL, memory, 0, 20), D);
        IS(functions[i](execution, 0, NULL, memory, 21, 8), D);
        IS(functions[i](execution, 0, NULL, memory, 17, 8), D);
        IS(functions[i](execution, 0, NULL, memory, 0, 0), D);
        IS(functions[i](execution, 0, &NO_DIMS, memory, 0, 8), D);
        IS(functions[i](execution, 0, &NO_COUNT, memory, 0, 8), D);
        IS(functions[i](execution, 0, NULL, memory, 0, 8), OK);
        IS(functions[i](execution, 0, NULL, memory, 0, 8), S);
        IS(i ? ANeuralNetworksExecution_setOutput(execution, 0, NULL, values, 8)
             : ANeuralNetworksExecution_setInput(execution, 0, NULL, values, 8), S);
        end(execution);
    }
    ANeuralNetworksMemory_free(memories[0]);
    ANeuralNetworksMemory_free(memories[1]);
}

static void padding(void)
{
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    char x[64] = {0}, z[64];
    Memory *memories[] = {shared(64, NULL), blob_memory(64)};
    Execution *execution = begin();
    IS(ANeuralNetworksExecution_enableInputAndOutputPadding(NULL, true), N);
    IS(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, false), OK);
    IS(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, true), OK);
    memcpy(x, sums.x, 8);
    IS(ANeuralNetworksExecution_setInput(execution, -1, NULL, x, 64), D);
    IS(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, true), OK); /* refused before the length */
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, 3), D);
    IS(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, true), S);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, 3), D);
    for (int i = 0; i < 2; i++) {
        IS(ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, memories[i], 0, 3), D);
        IS(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memories[i], 0, 3), D);
    }
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, 64), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 1, NULL, sums.y, 8), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 2, NULL, &sums.activation, 4), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, 64), OK);
    IS(ANeuralNetworksExecution_compute(execution), OK);
    memcpy(sums.z, z, 8);
    TRUE_(sums.z[0] == 4 && sums.z[1] == 6);
    end(execution);
    /* Whether there is padding is settled once an argument is set, in whatever way. */
    for (int setter = 0; setter < 6; setter++) {
        Memory *memory = memories[setter % 2];
        execution = begin();
        switch (setter) {
        case 0: case 1: IS(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, 8), OK); break;
        case 2: case 3: IS(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 0, 8), OK); break;
        case 4: IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, sums.x, 8), OK); break;
        default: IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sums.z, 8), OK); break;
        }
        IS(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, true), S);
        IS(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, false), S);
        end(execution);
    }
    ANeuralNetworksMemory_free(memories[0]);
    ANeuralNetworksMemory_free(memories[1]);
}

/* What needs a compilation for exactly one device. */
static void two_devices(void)
{
    const Device *both[] = {device(0), device(1)};
    model = plain_add();
    IS(ANeuralNetworksCompilation_createForDevices(model, both, 2, &compilation), OK);
    IS(ANeuralNetworksCompilation_finish(compilation), OK);
    Execution *execution = new_execution(compilation);
    IS(ANeuralNetworksExecution_setTimeout(NULL, 1000000000), N);
    IS(ANeuralNetworksExecution_setTimeout(execution, 1000000000), D);
    IS(ANeuralNetworksExecution_setMeasureTiming(execution, false), D);
    IS(ANeuralNetworksExecution_setMeasureTiming(execution, true), D);
    end(execution);
}

/* [3, 4] with [4], which is repeated over the rows. */
static void broadcasts(void)
{
    static const uint32_t wide[] = {3, 4}, row[] = {4}, in[] = {0, 1, 2}, given[] = {0, 1}, out[] = {3};
    static const float y[] = {1, 2, 3, 4};
    for (int multiplies = 0; multiplies < 2; multiplies++) {
        float x[12], z[12] = {0};
        int32_t none = 0;
        model = new_model();
        add(model, (Type){ANEURALNETWORKS_TENSOR_FLOAT32, 2, wide, 0, 0});
        add(model, FLOAT_OF(row));
        add(model, INT);
        add(model, (Type){ANEURALNETWORKS_TENSOR_FLOAT32, 2, wide, 0, 0});
        IS(ANeuralNetworksModel_setOperandValue(model, 2, &none, 4), OK);
        IS(ANeuralNetworksModel_addOperation(model, multiplies ? ANEURALNETWORKS_MUL : ANEURALNETWORKS_ADD, 3, in, 1, out),
           OK);
        IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, given, 1, out), OK);
        compilation = compiled(finished(model));
        Execution *execution = new_execution(compilation);
        for (int i = 0; i < 12; i++)
            x[i] = (float)(i + 5);
        IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof x), OK);
        IS(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof y), OK);
        IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof z), OK);
        IS(ANeuralNetworksExecution_compute(execution), OK);
        for (int i = 0; i < 12; i++)
            TRUE_(z[i] == (multiplies ? x[i] * y[i % 4] : x[i] + y[i % 4]));
        end(execution);
    }
}

static void settings(void)
{
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    uint64_t duration = 7;
    Execution *execution = begin();
    IS(ANeuralNetworksExecution_setReusable(NULL, true), N);
    IS(ANeuralNetworksExecution_setLoopTimeout(NULL, 1), N);
    IS(ANeuralNetworksExecution_setTimeout(NULL, 1), N);
    IS(ANeuralNetworksExecution_setMeasureTiming(NULL, true), N);
    IS(ANeuralNetworksExecution_setTimeout(execution, 1000000000), D); /* not for one device */
    IS(ANeuralNetworksExecution_setMeasureTiming(execution, false), D);
    IS(ANeuralNetworksExecution_setMeasureTiming(execution, true), D);
    IS(ANeuralNetworksExecution_setLoopTimeout(execution, UINT64_MAX), OK);
    IS(ANeuralNetworksExecution_getDuration(execution, 0, &duration), S);
    give(execution, &sums);
    IS(ANeuralNetworksExecution_compute(NULL), N);
    IS(ANeuralNetworksExecution_compute(execution), OK);
    IS(ANeuralNetworksExecution_setMeasureTiming(execution, true), D);
    IS(ANeuralNetworksExecution_setTimeout(execution, 1), D);
    IS(ANeuralNetworksExecution_getDuration(execution, 0, &duration), S);
    TRUE_(duration == UINT64_MAX);
    end(execution);
}

static void timing(void)
{
    model = plain_add();
    compilation = compiled_for_one(model);
    for (int way = 0; way < WAYS; way++) {
        struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
        uint64_t duration[4];
        Execution *execution = new_execution(compilation);
        give(execution, &sums);
        IS(ANeuralNetworksExecution_setMeasureTiming(execution, false), OK);
        IS(ANeuralNetworksExecution_setMeasureTiming(execution, true), OK);
        IS(ANeuralNetworksExecution_setTimeout(execution, UINT64_MAX), OK);
        IS(ANeuralNetworksExecution_getDuration(execution, 0, &duration[0]), S);
        IS(compute_by((enum way)way, execution, compilation), OK);
        IS(ANeuralNetworksExecution_setMeasureTiming(execution, true), S);
        IS(ANeuralNetworksExecution_setTimeout(execution, 1), S);
        IS(ANeuralNetworksExecution_getDuration(NULL, 0, &duration[0]), N);
        IS(ANeuralNetworksExecution_getDuration(execution, 0, NULL), N);
        IS(ANeuralNetworksExecution_getDuration(execution, -1, &duration[0]), D);
        IS(ANeuralNetworksExecution_getDuration(execution, 4, &duration[0]), D);
        for (int code = 0; code < 4; code++) {
            duration[code] = UINT64_MAX - 1;
            IS(ANeuralNetworksExecution_getDuration(execution, code, &duration[code]), OK);
            TRUE_(duration[code] != UINT64_MAX - 1 && duration[code] % 1000 == 0);
        }
        TRUE_(duration[0] <= duration[1]);
        ANeuralNetworksExecution_free(execution);
    }
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void timeouts(void)
{
    model = plain_add();
    compilation = compiled_for_one(model);
    for (int way = 0; way < WAYS; way++) {
        struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
        Execution *execution = new_execution(compilation);
        give(execution, &sums);
        IS(ANeuralNetworksExecution_setTimeout(execution, 1), OK);
        IS(compute_by((enum way)way, execution, compilation), ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT);
        ANeuralNetworksExecution_free(execution);
    }
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

/* Once an execution has been started nothing about it can be changed, and it cannot be started again. */
static void only_once(void)
{
    model = plain_add();
    compilation = compiled(model);
    Memory *memory = shared(8, NULL);
    for (int way = 0; way < WAYS; way++) {
        struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
        Execution *execution = new_execution(compilation);
        IS(ANeuralNetworksExecution_setReusable(execution, true), OK);
        IS(ANeuralNetworksExecution_setReusable(execution, false), OK);
        give(execution, &sums);
        IS(compute_by((enum way)way, execution, compilation), OK);
        TRUE_(sums.z[0] == 4 && sums.z[1] == 6);
        IS(ANeuralNetworksExecution_setLoopTimeout(execution, 1), S);
        IS(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, true), S);
        IS(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, false), S);
        IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, sums.x, 8), S);
        IS(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, 8), S);
        IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sums.x, 8), S);
        IS(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 0, 8), S);
        IS(ANeuralNetworksExecution_setReusable(execution, true), S);
        IS(ANeuralNetworksExecution_setReusable(execution, false), S);
        for (int again = 0; again < WAYS; again++)
            IS(compute_by((enum way)again, execution, compilation), S);
        ANeuralNetworksExecution_free(execution);
    }
    ANeuralNetworksMemory_free(memory);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void again_and_again(void)
{
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    Execution *execution = begin();
    IS(ANeuralNetworksExecution_setReusable(execution, true), OK);
    give(execution, &sums);
    for (int i = 0; i < 40; i++) {
        sums.x[0] = (float)i;
        IS(compute_by((enum way)(i % WAYS), execution, compilation), OK);
        TRUE_(sums.z[0] == (float)i + 3 && sums.z[1] == 6);
    }
    IS(ANeuralNetworksExecution_setReusable(execution, false), S);
    end(execution);
}

static void missing_arguments(void)
{
    model = plain_add();
    compilation = compiled(model);
    for (int way = 0; way < WAYS; way++) {
        float x[2] = {0};
        Execution *execution = new_execution(compilation);
        IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, 8), OK);
        IS(compute_by((enum way)way, execution, compilation), D);
        IS(compute_by((enum way)way, execution, compilation), S);
        ANeuralNetworksExecution_free(execution);
    }
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void rank_and_dimensions(void)
{
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    uint32_t rank = 9, dims[4] = {9};
    Execution *execution = begin();
    IS(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank), S);
    IS(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims), S);
    give(execution, &sums);
    IS(compute_by(START, execution, compilation), OK);
    IS(ANeuralNetworksExecution_getOutputOperandRank(NULL, 0, &rank), N);
    IS(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, NULL), N);
    IS(ANeuralNetworksExecution_getOutputOperandDimensions(NULL, 0, dims), N);
    IS(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, NULL), N);
    IS(ANeuralNetworksExecution_getOutputOperandRank(execution, -1, &rank), D);
    IS(ANeuralNetworksExecution_getOutputOperandRank(execution, 999, &rank), D);
    IS(ANeuralNetworksExecution_getOutputOperandDimensions(execution, -1, dims), D);
    IS(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 999, dims), D);
    IS(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank), OK);
    IS(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims), OK);
    TRUE_(rank == 1 && dims[0] == 2);
    end(execution);
}

/* Shapes that the model leaves open: [0] + [0] -> [0], or of unknown rank. */
static void open_shapes(void)
{
    static const float x[] = {1, 2, 3, 4, 5};
    for (int without_rank = 0; without_rank < 2; without_rank++) {
        Type open = {ANEURALNETWORKS_TENSOR_FLOAT32, !without_rank, without_rank ? NULL : OPEN, 0, 0};
        Type five = FLOAT_OF(FIVE), one = FLOAT_OF(ONE);
        model = finished(add_model(open, open, open));
        compilation = compiled(model);
        /* Length of the output, and what comes of it: smaller ones are told the shape, larger ones are allowed. */
        static const struct {
            size_t length;
            int code;
        } rows[] = {{20, OK}, {16, SIZE}, {40, OK}};
        for (int i = 0; i < 3; i++) {
            Execution *execution = new_execution(compilation);
            float z[10] = {0};
            int32_t none = 0;
            uint32_t rank = 0, dims[1] = {0};
            IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, 20), D);
            IS(ANeuralNetworksExecution_setInput(execution, 0, &open, x, 20), D);
            IS(ANeuralNetworksExecution_setInput(execution, 0, &HUGE_TYPE, x, 20), D);
            IS(ANeuralNetworksExecution_setInput(execution, 0, &five, x, 16), D);
            IS(ANeuralNetworksExecution_setInput(execution, 0, &five, x, 20), OK);
            IS(ANeuralNetworksExecution_setInput(execution, 1, &one, x, 4), OK);
            IS(ANeuralNetworksExecution_setInput(execution, 2, NULL, &none, 4), OK);
            IS(ANeuralNetworksExecution_setOutput(execution, 0, &HUGE_TYPE, z, 20), D);
            IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, rows[i].length), OK);
            IS(ANeuralNetworksExecution_compute(execution), rows[i].code);
            IS(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank), rows[i].code);
            IS(rank, 1);
            IS(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims), rows[i].code);
            IS(dims[0], 5);
            TRUE_(rows[i].code || (z[0] == 2 && z[4] == 6));
            ANeuralNetworksExecution_free(execution);
        }
        ANeuralNetworksCompilation_free(compilation);
        ANeuralNetworksModel_free(model);
    }
}

/* What can never run compiles all the same, and fails when it is computed. */
static void never_runs(void)
{
    static const uint32_t in[] = {0, 1, 2}, out[] = {3};
    static const uint32_t three[] = {3};
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    float wide[3] = {0};
    /* shapes that do not fit each other */
    model = finished(add_model(FLOAT2, FLOAT_OF(three), FLOAT2));
    compilation = compiled(model);
    for (int way = 0; way < WAYS; way++) {
        Execution *execution = new_execution(compilation);
        uint32_t rank;
        IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, sums.x, 8), OK);
        IS(ANeuralNetworksExecution_setInput(execution, 1, NULL, wide, 12), OK);
        IS(ANeuralNetworksExecution_setInput(execution, 2, NULL, &sums.activation, 4), OK);
        IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sums.z, 8), OK);
        IS(compute_by((enum way)way, execution, compilation), F);
        IS(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank), S);
        ANeuralNetworksExecution_free(execution);
    }
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    /* an activation that there is not: as a constant, then given at run time */
    int32_t odd = 999;
    model = new_model();
    for (int i = 0; i < 4; i++)
        add(model, i == 2 ? INT : FLOAT2);
    IS(ANeuralNetworksModel_setOperandValue(model, 2, &odd, 4), OK);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, in, 1, out), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, in, 1, out), OK);
    compilation = compiled(finished(model));
    Execution *execution = new_execution(compilation);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, sums.x, 8), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 1, NULL, sums.y, 8), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sums.z, 8), OK);
    IS(ANeuralNetworksExecution_compute(execution), F);
    end(execution);
    execution = begin();
    sums.activation = 999;
    give(execution, &sums);
    IS(ANeuralNetworksExecution_compute(execution), F);
    end(execution);
}

/* FULLY_CONNECTED whose output would have 16 GiB. */
static void gigantic_output(void)
{
    static const uint32_t open2[] = {0, 0}, open1[] = {0}, in[] = {0, 1, 2, 3}, out[] = {4};
    static const uint32_t tall[] = {65536, 1}, flat[] = {65536};
    Type t2 = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, open2, 0, 0}, t1 = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, open1, 0, 0};
    Type x = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, tall, 0, 0}, bias = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, flat, 0, 0};
    float *values = calloc(65536, 4), *result = calloc(65536, 4);
    int32_t none = 0;
    model = new_model();
    add(model, t2);
    add(model, t2);
    add(model, t1);
    add(model, INT);
    add(model, t2);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FULLY_CONNECTED, 4, in, 1, out), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 4, in, 1, out), OK);
    compilation = compiled(finished(model));
    Execution *execution = new_execution(compilation);
    IS(ANeuralNetworksExecution_setInput(execution, 0, &x, values, 262144), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 1, &x, values, 262144), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 2, &bias, values, 262144), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 3, NULL, &none, 4), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, result, 262144), OK);
    TRUE_(ANeuralNetworksExecution_compute(execution) != OK);
    end(execution);
    free(values);
    free(result);
}

static void unwanted_output(void)
{
    static const float x[] = {3, 1, 2};
    static const uint32_t three[] = {3}, in[] = {0, 1}, out[] = {2, 3};
    Type floats = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, three, 0, 0}, places = {ANEURALNETWORKS_TENSOR_INT32, 1, TWO, 0, 0};
    int32_t two = 2, found[2] = {0};
    model = new_model();
    add(model, floats);
    add(model, INT);
    add(model, FLOAT2);
    add(model, places);
    IS(ANeuralNetworksModel_setOperandValue(model, 1, &two, 4), OK);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_TOPK_V2, 2, in, 2, out), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, in, 2, out), OK);
    compilation = compiled(finished(model));
    Execution *execution = new_execution(compilation);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, 12), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, NULL, 0), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 1, NULL, found, 8), OK);
    IS(ANeuralNetworksExecution_compute(execution), OK);
    TRUE_(found[0] == 0 && found[1] == 2);
    end(execution);
}

/* WHILE i < limit: i = i + 1; IF and WHILE take models as operands. */
static Model *step(int32_t operation, Type result)
{
    static const uint32_t in[] = {0, 1}, add_in[] = {0, 1, 2}, out[] = {3};
    Model *inner = new_model();
    int32_t none = 0;
    float one = 1;
    Type value = FLOAT_OF(ONE);
    add(inner, value);
    add(inner, value);
    add(inner, INT);
    add(inner, result);
    if (operation == ANEURALNETWORKS_ADD) { /* (i, limit) -> i + 1; the limit stays outside */
        IS(ANeuralNetworksModel_setOperandValue(inner, 2, &none, 4), OK);
        add(inner, value);
        IS(ANeuralNetworksModel_setOperandValue(inner, 4, &one, 4), OK);
        static const uint32_t with_one[] = {0, 4, 2};
        IS(ANeuralNetworksModel_addOperation(inner, operation, 3, with_one, 1, out), OK);
    } else {
        IS(ANeuralNetworksModel_setOperandValue(inner, 2, &none, 4), OK);
        IS(ANeuralNetworksModel_addOperation(inner, operation, 2, add_in, 1, out), OK);
    }
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(inner, 2, in, 1, out), OK);
    return finished(inner);
}

static void loops(void)
{
    static const uint32_t in[] = {0, 1, 2, 3}, given[] = {2, 3}, out[] = {4}, bad[] = {2, 1, 2, 3};
    Type truth = {ANEURALNETWORKS_TENSOR_BOOL8, 1, ONE, 0, 0}, value = FLOAT_OF(ONE);
    Type role = {ANEURALNETWORKS_MODEL, 0, NULL, 0, 0};
    Model *condition = step(ANEURALNETWORKS_LESS, truth), *body = step(ANEURALNETWORKS_ADD, value);
    model = new_model();
    add(model, role);
    add(model, role);
    add(model, value);
    add(model, value);
    add(model, value);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_WHILE, 4, in, 1, out), D); /* no models yet */
    IS(ANeuralNetworksModel_setOperandValueFromModel(model, 0, condition), OK);
    IS(ANeuralNetworksModel_setOperandValueFromModel(model, 1, body), OK);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_WHILE, 4, bad, 1, out), D);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_WHILE, 3, in, 1, out), D);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_WHILE, 4, in, 1, out), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, given, 1, out), OK);
    IS(ANeuralNetworksModel_finish(model), OK);
    compilation = compiled(model);
    float i = 0, limit = 5, result = 0;
    Execution *execution = new_execution(compilation);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, &i, 4), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 1, NULL, &limit, 4), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, &result, 4), OK);
    IS(ANeuralNetworksExecution_compute(execution), OK);
    TRUE_(result == 5);
    ANeuralNetworksExecution_free(execution);
    /* A loop that never ends: 2^24 + 1 is 2^24. */
    i = 16777216;
    limit = INFINITY;
    execution = new_execution(compilation);
    IS(ANeuralNetworksExecution_setLoopTimeout(execution, 1000000), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, &i, 4), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 1, NULL, &limit, 4), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, &result, 4), OK);
    int code = ANeuralNetworksExecution_compute(execution);
    TRUE_(code == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT || code == ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT);
    end(execution);
    ANeuralNetworksModel_free(condition);
    ANeuralNetworksModel_free(body);
}

static const struct test tests[] = {
    {"free_unstarted", free_unstarted}, {"set_input", set_input}, {"set_output", set_output},
    {"set_from_memory", set_from_memory}, {"padding", padding}, {"two_devices", two_devices},
    {"broadcasts", broadcasts}, {"settings", settings}, {"timing", timing},
    {"timeouts", timeouts}, {"only_once", only_once}, {"again_and_again", again_and_again},
    {"missing_arguments", missing_arguments}, {"rank_and_dimensions", rank_and_dimensions},
    {"open_shapes", open_shapes}, {"never_runs", never_runs}, {"gigantic_output", gigantic_output},
    {"unwanted_output", unwanted_output}, {"loops", loops},
};
MAIN(tests)
