#include "cases.h"

typedef ANeuralNetworksMemoryDesc Desc;

static Model *model;
static Compilation *compilation;

static void begin(void)
{
    model = plain_add();
    compilation = compiled(model);
}

static void end(void)
{
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static Desc *new_desc(void)
{
    Desc *desc = NULL;
    IS(ANeuralNetworksMemoryDesc_create(&desc), OK);
    return desc;
}

static Memory *made_from(Desc *desc)
{
    Memory *memory = NULL;
    IS(ANeuralNetworksMemoryDesc_finish(desc), OK);
    IS(ANeuralNetworksMemory_createFromDesc(desc, &memory), OK);
    ANeuralNetworksMemoryDesc_free(desc);
    return memory;
}

static void descriptors(void)
{
    static int (*const functions[])(Desc *, const Compilation *, uint32_t, float) = {
        ANeuralNetworksMemoryDesc_addInputRole, ANeuralNetworksMemoryDesc_addOutputRole};
    begin();
    Compilation *unfinished;
    IS(ANeuralNetworksCompilation_create(model, &unfinished), OK);
    IS(ANeuralNetworksMemoryDesc_create(NULL), N);
    ANeuralNetworksMemoryDesc_free(NULL);
    for (int i = 0; i < 2; i++) {
        Desc *desc = new_desc();
        Memory *memory = (Memory *)1;
        IS(functions[i](NULL, compilation, 0, 1), N);
        IS(functions[i](desc, NULL, 0, 1), N);
        IS(functions[i](desc, unfinished, 0, 1), D);
        IS(functions[i](desc, compilation, 999, 1), D);
        IS(functions[i](desc, compilation, 0, 10), D);
        IS(functions[i](desc, compilation, 0, 0), D);
        IS(functions[i](desc, compilation, 0, -1), D);
        IS(functions[i](desc, compilation, 0, NAN), D);
        IS(ANeuralNetworksMemoryDesc_finish(NULL), N);
        IS(ANeuralNetworksMemoryDesc_finish(desc), D); /* no role; it stays open */
        IS(functions[i](desc, compilation, 0, 0.5f), OK);
        IS(functions[i](desc, compilation, 0, 0.5f), D);
        IS(ANeuralNetworksMemory_createFromDesc(desc, &memory), S);
        TRUE_(!memory);
        IS(ANeuralNetworksMemory_createFromDesc(NULL, &memory), N);
        IS(ANeuralNetworksMemory_createFromDesc(desc, NULL), N);
        IS(ANeuralNetworksMemoryDesc_finish(desc), OK);
        IS(ANeuralNetworksMemoryDesc_finish(desc), S);
        IS(functions[i](desc, compilation, 0, 1), S);
        ANeuralNetworksMemoryDesc_free(desc);
    }
    ANeuralNetworksCompilation_free(unfinished);
    end();
}

static void dimensions(void)
{
    static const uint32_t three[] = {3}, two_one[] = {2, 1};
    begin();
    Desc *desc = new_desc();
    IS(ANeuralNetworksMemoryDesc_setDimensions(NULL, 1, TWO), N);
    IS(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, NULL), N);
    IS(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, TWO), OK);
    IS(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, OPEN), OK);
    IS(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, three), D);
    IS(ANeuralNetworksMemoryDesc_setDimensions(desc, 2, two_one), D);
    IS(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 2, 1), D); /* a scalar */
    IS(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1), OK);
    IS(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 2, 1), D);
    IS(ANeuralNetworksMemoryDesc_finish(desc), OK);
    IS(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, TWO), S);
    ANeuralNetworksMemoryDesc_free(desc);
    desc = new_desc();
    IS(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 2, 1), OK);
    IS(ANeuralNetworksMemoryDesc_setDimensions(desc, 0, NULL), OK);
    IS(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, TWO), D);
    ANeuralNetworksMemoryDesc_free(desc);
    end();
}

/* A compilation of RELU on operands of a type. */
static Compilation *of_type(Type type, Model **made)
{
    static const uint32_t first[] = {0}, second[] = {1};
    *made = new_model();
    add(*made, type);
    add(*made, type);
    IS(ANeuralNetworksModel_addOperation(*made, ANEURALNETWORKS_RELU, 1, first, 1, second), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(*made, 1, first, 1, second), OK);
    return compiled(finished(*made));
}

static void metadata(void)
{
    static const uint32_t dims[] = {2, 3}, other[] = {2, 4}, three[] = {2, 3, 1};
    Type types[] = {
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 2, dims, 0.5f, 3}, {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 2, dims, 0.25f, 3},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 2, dims, 0.5f, 4}, {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 2, other, 0.5f, 3},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 3, three, 0.5f, 3}, {ANEURALNETWORKS_TENSOR_FLOAT32, 2, dims, 0, 0},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 2, dims, 0.5f, 3},
    };
    enum { COUNT = sizeof types / sizeof *types };
    Model *models[COUNT];
    Compilation *compilations[COUNT];
    for (int i = 0; i < COUNT; i++)
        compilations[i] = of_type(types[i], &models[i]);
    for (int i = 1; i < COUNT; i++)
        for (int sides = 0; sides < 4; sides++) {
            Desc *desc = new_desc();
            IS(sides & 1 ? ANeuralNetworksMemoryDesc_addInputRole(desc, compilations[0], 0, 1)
                         : ANeuralNetworksMemoryDesc_addOutputRole(desc, compilations[0], 0, 1), OK);
            IS(sides & 2 ? ANeuralNetworksMemoryDesc_addInputRole(desc, compilations[i], 0, 1)
                         : ANeuralNetworksMemoryDesc_addOutputRole(desc, compilations[i], 0, 1),
               i == COUNT - 1 ? OK : D);
            ANeuralNetworksMemoryDesc_free(desc);
        }
    for (int i = 0; i < COUNT; i++) {
        ANeuralNetworksCompilation_free(compilations[i]);
        ANeuralNetworksModel_free(models[i]);
    }
}

/* A convolution by 1 x 1 filters with a scale for each of two channels. */
static Compilation *per_channel(const float scales[2], Model **made)
{
    static const uint32_t image[] = {1, 1, 1, 2}, filter[] = {2, 1, 1, 2}, given[] = {0, 1, 2}, out[] = {5},
                          in[] = {0, 1, 2, 3, 4, 4, 6};
    static const int32_t same = ANEURALNETWORKS_PADDING_SAME, stride = 1, none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksSymmPerChannelQuantParams params = {0, 2, scales};
    *made = new_model();
    add(*made, (Type){ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 4, image, 0.5f, 0});
    add(*made, (Type){ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 4, filter, 0, 0});
    add(*made, (Type){ANEURALNETWORKS_TENSOR_INT32, 1, TWO, 0, 0});
    add(*made, INT);
    add(*made, INT);
    add(*made, (Type){ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 4, image, 100, 0});
    add(*made, INT);
    IS(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(*made, 1, &params), OK);
    IS(ANeuralNetworksModel_setOperandValue(*made, 3, &same, 4), OK);
    IS(ANeuralNetworksModel_setOperandValue(*made, 4, &stride, 4), OK);
    IS(ANeuralNetworksModel_setOperandValue(*made, 6, &none, 4), OK);
    IS(ANeuralNetworksModel_addOperation(*made, ANEURALNETWORKS_CONV_2D, 7, in, 1, out), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(*made, 3, given, 1, out), OK);
    return compiled(finished(*made));
}

static void scales_of_channels(void)
{
    static const float scales[] = {1, 2}, others[] = {1, 3};
    Model *models[3];
    Compilation *compilations[] = {per_channel(scales, &models[0]), per_channel(scales, &models[1]),
                                   per_channel(others, &models[2])};
    for (int i = 1; i < 3; i++) {
        Desc *desc = new_desc();
        IS(ANeuralNetworksMemoryDesc_addInputRole(desc, compilations[0], 1, 1), OK);
        IS(ANeuralNetworksMemoryDesc_addInputRole(desc, compilations[i], 1, 1), i == 1 ? OK : D);
        ANeuralNetworksMemoryDesc_free(desc);
    }
    for (int i = 0; i < 3; i++) {
        ANeuralNetworksCompilation_free(compilations[i]);
        ANeuralNetworksModel_free(models[i]);
    }
}

/* What is copied where, and what comes of it: memories of 8, 4 and 16 bytes, and G, H (float [1, 2]), R (float [2]), Q
 * (float [2, 1]) of the device. */
static void copies(void)
{
    static const uint32_t flat[] = {1, 2}, tall[] = {2, 1};
    enum { M8, M4, M16, G, H, R, Q, COUNT };
    static const struct {
        int from, to, code;
    } rows[] = {
        {M8, M4, D}, {M8, M16, D}, {M4, M8, D}, {M16, M8, D}, {M8, M8, OK}, {M4, G, D}, {M16, G, D}, {G, M8, D},
        {M8, G, OK}, {G, M4, D}, {G, M8, OK}, {M4, G, D}, {G, M8, D}, {M8, G, OK}, {G, M16, D}, {H, G, D}, {G, M8, D},
        {M8, R, OK}, {R, G, D}, {M8, Q, OK}, {Q, G, D}, {M8, H, OK}, {H, G, OK}, {G, M8, OK}, {M4, H, D}, {H, G, D},
    };
    Type types[] = {{ANEURALNETWORKS_TENSOR_FLOAT32, 2, flat, 0, 0}, {ANEURALNETWORKS_TENSOR_FLOAT32, 2, flat, 0, 0}, FLOAT2,
                    {ANEURALNETWORKS_TENSOR_FLOAT32, 2, tall, 0, 0}};
    Model *models[4];
    Compilation *compilations[4];
    Memory *memories[COUNT] = {shared(8, NULL), shared(4, NULL), shared(16, NULL)};
    for (int i = 0; i < 4; i++) {
        Desc *desc = new_desc();
        compilations[i] = of_type(types[i], &models[i]);
        IS(ANeuralNetworksMemoryDesc_addInputRole(desc, compilations[i], 0, 1), OK);
        memories[G + i] = made_from(desc);
    }
    IS(ANeuralNetworksMemory_copy(NULL, memories[G]), N);
    IS(ANeuralNetworksMemory_copy(memories[G], NULL), N);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int before = wrong;
        IS(ANeuralNetworksMemory_copy(memories[rows[i].from], memories[rows[i].to]), rows[i].code);
        if (wrong > before)
            printf("in row %d\n", (int)i);
    }
    for (int i = 0; i < COUNT; i++)
        ANeuralNetworksMemory_free(memories[i]);
    for (int i = 0; i < 4; i++) {
        ANeuralNetworksCompilation_free(compilations[i]);
        ANeuralNetworksModel_free(models[i]);
    }
}

/* z = x + {10, 20} with an activation, which may be none that there is. */
static Compilation *plus(int32_t activation, Type type, Model **made)
{
    static const uint32_t in[] = {0, 1, 2}, out[] = {3};
    static const float values[] = {10, 20};
    *made = new_model();
    add(*made, type);
    add(*made, FLOAT2);
    add(*made, INT);
    add(*made, type);
    IS(ANeuralNetworksModel_setOperandValue(*made, 1, values, 8), OK);
    IS(ANeuralNetworksModel_setOperandValue(*made, 2, &activation, 4), OK);
    IS(ANeuralNetworksModel_addOperation(*made, ANEURALNETWORKS_ADD, 3, in, 1, out), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(*made, 1, in, 1, out), OK);
    return compiled(finished(*made));
}

static int run_with(Compilation *of, const Memory *input, const Memory *output, float result[2])
{
    static const float x[] = {1, 2};
    Execution *execution = new_execution(of);
    if (input)
        IS(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, input, 0, 0), OK);
    else
        IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, 8), OK);
    if (output)
        IS(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, output, 0, 0), OK);
    else
        IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, result, 8), OK);
    int code = ANeuralNetworksExecution_compute(execution);
    ANeuralNetworksExecution_free(execution);
    return code;
}

static void runs(void)
{
    Model *models[3];
    Compilation *a = plus(0, FLOAT2, &models[0]), *b = plus(0, FLOAT2, &models[1]), *bad = plus(999, FLOAT2, &models[2]);
    Desc *desc = new_desc();
    float z[2] = {0};
    void *bytes;
    Memory *plain = shared(8, &bytes);
    IS(ANeuralNetworksMemoryDesc_addInputRole(desc, a, 0, 1), OK);
    IS(ANeuralNetworksMemoryDesc_addOutputRole(desc, b, 0, 1), OK);
    IS(ANeuralNetworksMemoryDesc_addOutputRole(desc, bad, 0, 1), OK);
    Memory *memory = made_from(desc);
    IS(run_with(a, memory, NULL, z), F); /* there is nothing in it */
    IS(run_with(b, NULL, memory, NULL), OK);
    IS(run_with(a, memory, NULL, z), OK);
    TRUE_(z[0] == 21 && z[1] == 42);
    Execution *bound = new_execution(a);
    IS(ANeuralNetworksExecution_setInputFromMemory(bound, 0, NULL, memory, 0, 0), OK);
    IS(ANeuralNetworksExecution_setOutput(bound, 0, NULL, z, 8), OK);
    IS(run_with(bad, NULL, memory, NULL), F); /* takes the value away */
    IS(ANeuralNetworksExecution_compute(bound), F);
    ANeuralNetworksExecution_free(bound);
    IS(run_with(b, NULL, memory, NULL), OK);
    IS(ANeuralNetworksMemory_copy(memory, plain), OK);
    TRUE_(((float *)bytes)[0] == 11 && ((float *)bytes)[1] == 22);
    bound = new_execution(a);
    IS(ANeuralNetworksExecution_setInputFromMemory(bound, 0, NULL, memory, 1, 0), D);
    IS(ANeuralNetworksExecution_setInputFromMemory(bound, 0, NULL, memory, 0, 4), D);
    IS(ANeuralNetworksExecution_setInputFromMemory(bound, 0, NULL, memory, 0, 8), D);
    IS(ANeuralNetworksExecution_setOutputFromMemory(bound, 0, NULL, memory, 0, 0), D); /* no such role */
    IS(ANeuralNetworksExecution_setInputFromMemory(bound, 0, NULL, memory, 0, 0), OK);
    IS(ANeuralNetworksExecution_setInputFromMemory(bound, 0, NULL, memory, 0, 0), S);
    ANeuralNetworksExecution_free(bound);
    ANeuralNetworksMemory_free(memory);
    ANeuralNetworksMemory_free(plain);
    munmap(bytes, 8);
    ANeuralNetworksCompilation_free(a);
    ANeuralNetworksCompilation_free(b);
    ANeuralNetworksCompilation_free(bad);
    for (int i = 0; i < 3; i++)
        ANeuralNetworksModel_free(models[i]);
}

static void no_constants(void)
{
    begin();
    Desc *desc = new_desc();
    IS(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1), OK);
    Memory *memory = made_from(desc);
    Model *other = new_model();
    add(other, FLOAT2);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(other, 0, memory, 0, 8), D);
    ANeuralNetworksModel_free(other);
    ANeuralNetworksMemory_free(memory);
    end();
}

static void open_shapes(void)
{
    Model *open_model;
    Type open = FLOAT_OF(OPEN), five = FLOAT_OF(FIVE);
    Compilation *of_open = plus(0, open, &open_model);
    Desc *desc = new_desc();
    Memory *memory = (Memory *)1;
    float z[2] = {0}, x[] = {1, 2};
    IS(ANeuralNetworksMemoryDesc_addOutputRole(desc, of_open, 0, 1), OK);
    IS(ANeuralNetworksMemoryDesc_finish(desc), OK);
    IS(ANeuralNetworksMemory_createFromDesc(desc, &memory), F); /* nobody knows its size */
    TRUE_(!memory);
    ANeuralNetworksMemoryDesc_free(desc);
    desc = new_desc();
    IS(ANeuralNetworksMemoryDesc_addOutputRole(desc, of_open, 0, 1), OK);
    IS(ANeuralNetworksMemoryDesc_addInputRole(desc, of_open, 0, 1), OK);
    IS(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, TWO), OK);
    memory = made_from(desc);
    Execution *execution = new_execution(of_open);
    IS(ANeuralNetworksExecution_setInput(execution, 0, &FLOAT2, x, 8), OK);
    IS(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, &five, memory, 0, 0), D);
    IS(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 0, 0), OK);
    IS(ANeuralNetworksExecution_compute(execution), OK);
    ANeuralNetworksExecution_free(execution);
    execution = new_execution(of_open);
    IS(ANeuralNetworksExecution_setInputFromMemory(execution, 0, &five, memory, 0, 0), D);
    IS(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, 0), D);
    IS(ANeuralNetworksExecution_setInputFromMemory(execution, 0, &FLOAT2, memory, 0, 0), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, 8), OK);
    IS(ANeuralNetworksExecution_compute(execution), OK);
    TRUE_(z[0] == 21 && z[1] == 42);
    ANeuralNetworksExecution_free(execution);
    /* a result of another shape than the memory's */
    execution = new_execution(of_open);
    IS(ANeuralNetworksExecution_setInput(execution, 0, &five, (float[5]){0}, 20), OK);
    IS(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 0, 0), OK);
    IS(ANeuralNetworksExecution_compute(execution), F);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksMemory_free(memory);
    ANeuralNetworksCompilation_free(of_open);
    ANeuralNetworksModel_free(open_model);
}

static const struct test tests[] = {
    {"descriptors", descriptors}, {"dimensions", dimensions}, {"metadata", metadata},
    {"scales_of_channels", scales_of_channels}, {"copies", copies},
    {"runs", runs}, {"no_constants", no_constants}, {"open_shapes", open_shapes},
};
MAIN(tests)
