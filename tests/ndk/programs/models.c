#include "cases.h"

static const uint32_t IN[] = {0, 1, 2}, OUT[] = {3};

/* A model that can no longer be changed, as its finish failed: it has no operation. */
static Model *invalid(void)
{
    Model *model = new_model();
    add(model, FLOAT2);
    IS(ANeuralNetworksModel_finish(model), D);
    return model;
}

static void create(void)
{
    IS(ANeuralNetworksModel_create(NULL), N);
    ANeuralNetworksModel_free(new_model());
    ANeuralNetworksModel_free(NULL);
}

static void add_operand(void)
{
    Model *model = new_model();
    Type bad_quant = {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, TWO, -1, -1}, no_scalar = {ANEURALNETWORKS_INT32, 1, TWO, 0, 0};
    IS(ANeuralNetworksModel_addOperand(NULL, &FLOAT2), N);
    IS(ANeuralNetworksModel_addOperand(model, NULL), N);
    IS(ANeuralNetworksModel_addOperand(model, &bad_quant), D);
    IS(ANeuralNetworksModel_addOperand(model, &no_scalar), D);
    IS(ANeuralNetworksModel_addOperand(model, &NO_DIMS), D);
    IS(ANeuralNetworksModel_addOperand(model, &NO_COUNT), D);
    IS(ANeuralNetworksModel_addOperand(model, &HUGE_TYPE), D);
    ANeuralNetworksModel_free(model);
    model = invalid();
    IS(ANeuralNetworksModel_addOperand(model, &FLOAT2), S);
    ANeuralNetworksModel_free(model);
}

/* Type code, what scale and zero point it must have, and what else is wrong. */
static void operand_types(void)
{
    static const struct {
        int32_t type;
        float scale;
        int32_t zero_point;
        int code;
    } rows[] = {
        {ANEURALNETWORKS_TENSOR_FLOAT32, 0, 0, OK}, {ANEURALNETWORKS_TENSOR_FLOAT32, 1, 0, D},
        {ANEURALNETWORKS_TENSOR_FLOAT32, 0, 1, D}, {ANEURALNETWORKS_TENSOR_FLOAT16, 0, 0, OK},
        {ANEURALNETWORKS_TENSOR_FLOAT16, 0.5f, 0, D}, {ANEURALNETWORKS_TENSOR_INT32, -1, 7, OK},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, 0, OK}, {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, 255, OK},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, 256, D}, {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 0, 0, D},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, NAN, 0, D}, {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, INFINITY, 0, OK},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED, 1, -128, OK},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED, 1, 128, D},
        {ANEURALNETWORKS_TENSOR_QUANT8_SYMM, 1, 0, OK}, {ANEURALNETWORKS_TENSOR_QUANT8_SYMM, 1, 1, D},
        {ANEURALNETWORKS_TENSOR_QUANT16_SYMM, 1, 0, OK}, {ANEURALNETWORKS_TENSOR_QUANT16_SYMM, 1, -1, D},
        {ANEURALNETWORKS_TENSOR_QUANT16_ASYMM, 1, 65535, OK}, {ANEURALNETWORKS_TENSOR_QUANT16_ASYMM, 1, 65536, D},
        {ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 0, 0, OK},
        {ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 1, 0, D},
        {ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 0, 1, D}, {ANEURALNETWORKS_TENSOR_BOOL8, 0, 0, OK},
        {16, 0, 0, D}, {9999, 0, 0, D}, {10002, 0, 0, D}, {65535, 0, 0, D}, {-1, 0, 0, D}, {65536, 0, 0, D},
        {10001, 3, 4, OK},
    };
    Model *model = new_model();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Type type = {rows[i].type, 1, TWO, rows[i].scale, rows[i].zero_point};
        IS(ANeuralNetworksModel_addOperand(model, &type), rows[i].code);
    }
    ANeuralNetworksModel_free(model);
}

static void channel_scales(void)
{
    static const uint32_t dims[] = {2, 4};
    static const float scales[] = {1, 2, 3, 4, 5}, negative[] = {1, 2, -3, 4}, none[] = {1, 2, 0, 4};
    Type type = {ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 2, dims, 0, 0};
    ANeuralNetworksSymmPerChannelQuantParams good = {1, 4, scales};
    struct {
        ANeuralNetworksSymmPerChannelQuantParams params;
        int code;
    } rows[] = {{{1, 4, scales}, OK}, {{0, 2, scales}, OK}, {{7, 4, scales}, D}, {{1, 3, scales}, D}, {{1, 5, scales}, D},
                {{1, 4, negative}, D}, {{1, 4, none}, D}, {{1, 4, NULL}, D}, {{1, 0, scales}, D}, {{1, 0, NULL}, D}};
    Model *model = new_model();
    add(model, type);
    add(model, FLOAT2);
    IS(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(NULL, 0, &good), N);
    IS(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, NULL), N);
    IS(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 2, &good), D);
    IS(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 1, &good), D);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        IS(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, &rows[i].params), rows[i].code);
    ANeuralNetworksModel_free(model);
    model = invalid();
    IS(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, &good), S);
    ANeuralNetworksModel_free(model);
}

/* Only one type has scales of channels. */
static void channel_scales_of_other_types(void)
{
    static const struct {
        int32_t type;
        uint32_t rank;
        float scale;
    } rows[] = {
        {ANEURALNETWORKS_FLOAT32, 0, 0}, {ANEURALNETWORKS_INT32, 0, 0}, {ANEURALNETWORKS_UINT32, 0, 0},
        {ANEURALNETWORKS_BOOL, 0, 0}, {ANEURALNETWORKS_FLOAT16, 0, 0}, {ANEURALNETWORKS_TENSOR_FLOAT32, 2, 0},
        {ANEURALNETWORKS_TENSOR_INT32, 2, 0}, {ANEURALNETWORKS_TENSOR_FLOAT16, 2, 0},
        {ANEURALNETWORKS_TENSOR_BOOL8, 2, 0}, {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 2, 1},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED, 2, 1}, {ANEURALNETWORKS_TENSOR_QUANT8_SYMM, 2, 1},
        {ANEURALNETWORKS_TENSOR_QUANT16_SYMM, 2, 1}, {ANEURALNETWORKS_TENSOR_QUANT16_ASYMM, 2, 1},
        {ANEURALNETWORKS_MODEL, 0, 0}, {10000, 0, 0}, {10001, 2, 0},
    };
    static const uint32_t dims[] = {2, 4};
    static const float scales[] = {1, 2, 3, 4};
    ANeuralNetworksSymmPerChannelQuantParams params = {1, 4, scales};
    Model *model = new_model();
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        add(model, (Type){rows[i].type, rows[i].rank, rows[i].rank ? dims : NULL, rows[i].scale, 0});
        IS(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, (int32_t)i, &params), D);
    }
    ANeuralNetworksModel_free(model);
}

static void set_operand_value(void)
{
    static const char bytes[256];
    Model *model = new_model();
    Type scalar = {ANEURALNETWORKS_FLOAT32, 0, NULL, 0, 0};
    add(model, scalar);
    IS(ANeuralNetworksModel_setOperandValue(model, 0, NULL, 0), OK);
    IS(ANeuralNetworksModel_setOperandValue(NULL, 0, bytes, 4), N);
    IS(ANeuralNetworksModel_setOperandValue(model, 0, NULL, 20), N);
    IS(ANeuralNetworksModel_setOperandValue(model, 0, bytes, 20), D);
    IS(ANeuralNetworksModel_setOperandValue(model, 0, bytes, 0), D);
    IS(ANeuralNetworksModel_setOperandValue(model, 0, bytes, 4), OK);
    IS(ANeuralNetworksModel_setOperandValue(model, 0, bytes, 4), OK);
    IS(ANeuralNetworksModel_setOperandValue(model, 1, bytes, 4), D);
    IS(ANeuralNetworksModel_setOperandValue(model, -1, bytes, 4), D);
    add(model, FLOAT_OF(OPEN));
    IS(ANeuralNetworksModel_setOperandValue(model, 1, bytes, 4), D);
    ANeuralNetworksModel_free(model);
    model = invalid();
    IS(ANeuralNetworksModel_setOperandValue(model, 0, bytes, 8), S);
    ANeuralNetworksModel_free(model);
}

static void set_value_from(Memory *memory)
{
    Model *model = new_model();
    add(model, FLOAT_OF(ONE));
    IS(ANeuralNetworksModel_setOperandValueFromMemory(NULL, 0, memory, 0, 4), N);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, NULL, 0, 4), N);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, -1, memory, 0, 4), D);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, memory, 0, 4), D);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory, 0, 20), D);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory, 21, 4), D);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory, 17, 4), D);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory, SIZE_MAX - 2, 4), D);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory, 16, 4), OK);
    ANeuralNetworksModel_free(model);
    model = invalid();
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory, 0, 8), S);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(memory);
}

static void set_value_from_memory(void)
{
    set_value_from(shared(20, NULL));
    set_value_from(blob_memory(20));
}

static void set_value_from_model(void)
{
    Type role = {ANEURALNETWORKS_MODEL, 0, NULL, 0, 0};
    Model *outer = new_model(), *inner = add_model(FLOAT2, FLOAT2, FLOAT2), *wrong_one = invalid();
    add(outer, role);
    IS(ANeuralNetworksModel_setOperandValueFromModel(outer, 0, inner), S);
    IS(ANeuralNetworksModel_setOperandValueFromModel(outer, 0, wrong_one), S);
    IS(ANeuralNetworksModel_finish(inner), OK);
    IS(ANeuralNetworksModel_setOperandValueFromModel(NULL, 0, inner), N);
    IS(ANeuralNetworksModel_setOperandValueFromModel(outer, 0, NULL), N);
    IS(ANeuralNetworksModel_setOperandValueFromModel(outer, -1, inner), D);
    IS(ANeuralNetworksModel_setOperandValueFromModel(outer, 1, inner), D);
    IS(ANeuralNetworksModel_setOperandValueFromModel(outer, 0, inner), OK);
    IS(ANeuralNetworksModel_setOperandValueFromModel(wrong_one, 0, inner), S);
    ANeuralNetworksModel_free(outer);
    ANeuralNetworksModel_free(wrong_one);
    ANeuralNetworksModel_free(inner);
}

/* Parts that only a vendor could run are valid, and no device has them. */
static void oem_parts(void)
{
    static const char bytes[20];
    static const uint32_t four[] = {4}, first[] = {0}, second[] = {1};
    Type scalar = {10000, 0, NULL, 0, 0}, tensor = {10001, 1, four, 0, 0};
    Model *model = new_model();
    Compilation *compilation;
    const Device *one = device(0);
    bool supported = true;
    add(model, scalar);
    IS(ANeuralNetworksModel_setOperandValue(model, 0, bytes, 20), OK);
    add(model, tensor);
    IS(ANeuralNetworksModel_setOperandValue(model, 1, bytes, 4), OK);
    ANeuralNetworksModel_free(model);
    model = new_model();
    add(model, tensor);
    add(model, tensor);
    IS(ANeuralNetworksModel_addOperation(model, 10000, 1, first, 1, second), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, first, 1, second), OK);
    finished(model);
    IS(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &one, 1, &supported), OK);
    TRUE_(!supported);
    IS(ANeuralNetworksCompilation_createForDevices(model, &one, 1, &compilation), OK);
    IS(ANeuralNetworksCompilation_finish(compilation), D);
    /* Nothing can be had of a compilation that failed. */
    Execution *execution = (Execution *)1;
    ANeuralNetworksMemoryDesc *desc;
    uint32_t value;
    IS(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(compilation, 0, &value), S);
    IS(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(compilation, 0, &value), S);
    IS(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(compilation, 0, &value), S);
    IS(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(compilation, 0, &value), S);
    IS(ANeuralNetworksExecution_create(compilation, &execution), S);
    TRUE_(!execution);
    IS(ANeuralNetworksMemoryDesc_create(&desc), OK);
    IS(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1), D);
    IS(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 1), D);
    ANeuralNetworksMemoryDesc_free(desc);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void add_operation(void)
{
    static const uint32_t beyond[] = {0, 1, 4};
    Model *model = new_model();
    Type half = {ANEURALNETWORKS_TENSOR_FLOAT16, 1, TWO, 0, 0};
    add(model, FLOAT2);
    add(model, FLOAT2);
    add(model, INT);
    add(model, FLOAT2);
    IS(ANeuralNetworksModel_addOperation(NULL, ANEURALNETWORKS_ADD, 3, IN, 1, OUT), N);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 0, NULL, 1, OUT), N);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, IN, 0, NULL), N);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 0, IN, 1, OUT), D);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, IN, 0, OUT), D);
    IS(ANeuralNetworksModel_addOperation(model, -1, 3, IN, 1, OUT), D);
    IS(ANeuralNetworksModel_addOperation(model, 106, 3, IN, 1, OUT), D);
    IS(ANeuralNetworksModel_addOperation(model, 20000, 3, IN, 1, OUT), D);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, beyond, 1, OUT), D);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 2, IN, 1, OUT), D);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, IN, 2, IN), D);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FLOOR, 1, IN, 1, IN + 2), D);
    add(model, half);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, IN, 1, beyond + 2), D);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, IN, 1, OUT), OK);
    ANeuralNetworksModel_free(model);
    model = invalid();
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, IN, 1, OUT), S);
    ANeuralNetworksModel_free(model);
}

static void identify(void)
{
    static const uint32_t twice[] = {0, 0}, zero[] = {0}, beyond[] = {9}, constant[] = {2};
    static const int32_t none;
    Model *model = new_model();
    add(model, FLOAT2);
    add(model, FLOAT2);
    add(model, INT);
    add(model, FLOAT2);
    IS(ANeuralNetworksModel_setOperandValue(model, 2, &none, 4), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(NULL, 1, IN, 1, OUT), N);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 0, NULL, 1, OUT), N);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, IN, 0, NULL), N);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 0, IN, 1, OUT), D);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, beyond, 1, OUT), D);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, zero, 1, zero), D);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, twice, 1, OUT), D);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, zero, 2, twice), D);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, constant, 1, OUT), D);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, IN, 1, OUT), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, IN, 1, OUT), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, IN, 1, OUT), D);
    IS(ANeuralNetworksModel_finish(model), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, IN, 1, OUT), S);
    ANeuralNetworksModel_free(model);
}

static void relax(void)
{
    Model *model = add_model(FLOAT2, FLOAT2, FLOAT2);
    IS(ANeuralNetworksModel_relaxComputationFloat32toFloat16(NULL, true), N);
    IS(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, true), OK);
    IS(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, false), OK);
    finished(model);
    IS(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, true), S);
    IS(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, false), S);
    ANeuralNetworksModel_free(model);
}

static void finish(void)
{
    Model *model = new_model();
    IS(ANeuralNetworksModel_finish(NULL), N);
    IS(ANeuralNetworksModel_finish(model), D);
    IS(ANeuralNetworksModel_finish(model), S);
    ANeuralNetworksModel_free(model);
    model = plain_add();
    IS(ANeuralNetworksModel_finish(model), S);
    ANeuralNetworksModel_free(model);
}

/* A row: operations of ADD with activation 2 as (x, y, z), of five FLOAT2 operands 0, 1, 3, 4, 5; inputs 0 and 1. */
static void graphs(void)
{
    static const struct {
        uint32_t count, operations[3][3], outputs;
        int code;
    } rows[] = {
        {2, {{0, 1, 3}, {3, 1, 4}}, 4, D},            /* operand 5 is written by nobody */
        {3, {{0, 1, 3}, {3, 1, 4}, {4, 0, 5}}, 5, OK},
        {3, {{4, 0, 5}, {3, 1, 4}, {0, 1, 3}}, 5, OK}, /* in the wrong order */
        {3, {{5, 1, 3}, {3, 1, 4}, {4, 0, 5}}, 5, D},  /* a cycle */
        {3, {{0, 1, 3}, {0, 1, 3}, {3, 0, 5}}, 5, D},  /* one written twice, one never */
        {3, {{0, 1, 3}, {3, 1, 4}, {4, 3, 1}}, 4, D},  /* an input is written */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Model *model = new_model();
        uint32_t inputs[] = {0, 1, 2}, outputs[] = {rows[i].outputs};
        for (int k = 0; k < 6; k++)
            add(model, k == 2 ? INT : FLOAT2);
        for (uint32_t k = 0; k < rows[i].count; k++) {
            uint32_t in[] = {rows[i].operations[k][0], rows[i].operations[k][1], 2}, out[] = {rows[i].operations[k][2]};
            IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, in, 1, out), OK);
        }
        IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 3, inputs, 1, outputs), OK);
        IS(ANeuralNetworksModel_finish(model), rows[i].code);
        ANeuralNetworksModel_free(model);
    }
}

static void found_at_the_end_only(void)
{
    static const uint32_t channels[] = {2};
    Type bad_int = {ANEURALNETWORKS_TENSOR_INT32, 1, TWO, -1, 0}, per_channel = {
        ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 1, channels, 0, 0};
    Model *model = add_model(FLOAT2, FLOAT2, FLOAT2);
    static const int32_t values[2];
    add(model, bad_int);
    IS(ANeuralNetworksModel_setOperandValue(model, 4, values, 8), OK);
    IS(ANeuralNetworksModel_finish(model), D);
    ANeuralNetworksModel_free(model);
    model = add_model(FLOAT2, FLOAT2, FLOAT2);
    add(model, per_channel);
    IS(ANeuralNetworksModel_setOperandValue(model, 4, values, 2), OK);
    IS(ANeuralNetworksModel_finish(model), D);
    ANeuralNetworksModel_free(model);
    /* Constants that nobody reads are no fault. */
    model = add_model(FLOAT2, FLOAT2, FLOAT2);
    add(model, FLOAT2);
    IS(ANeuralNetworksModel_setOperandValue(model, 4, values, 8), OK);
    finished(model);
    ANeuralNetworksModel_free(model);
}

static void devices_of_a_model(void)
{
    Model *model = plain_add(), *open = add_model(FLOAT2, FLOAT2, FLOAT2);
    const Device *both[] = {device(0), device(1)}, *same[] = {both[0], both[0]}, *none[] = {both[0], NULL};
    bool supported[2] = {false, false};
    IS(ANeuralNetworksModel_getSupportedOperationsForDevices(NULL, both, 1, supported), N);
    IS(ANeuralNetworksModel_getSupportedOperationsForDevices(model, NULL, 1, supported), N);
    IS(ANeuralNetworksModel_getSupportedOperationsForDevices(model, both, 1, NULL), N);
    IS(ANeuralNetworksModel_getSupportedOperationsForDevices(model, both, 0, supported), D);
    IS(ANeuralNetworksModel_getSupportedOperationsForDevices(open, both, 1, supported), S);
    IS(ANeuralNetworksModel_getSupportedOperationsForDevices(model, same, 2, supported), D);
    IS(ANeuralNetworksModel_getSupportedOperationsForDevices(model, none, 2, supported), N);
    IS(ANeuralNetworksModel_getSupportedOperationsForDevices(model, both, 2, supported), OK);
    TRUE_(supported[0] && !supported[1]); /* there is one operation */
    ANeuralNetworksModel_free(open);
    ANeuralNetworksModel_free(model);
}

static void extensions(void)
{
    static const uint32_t first[] = {0}, second[] = {1};
    int32_t type = 0, again = 0, other = 0, operation = 0;
    Model *model = new_model();
    IS(ANeuralNetworksModel_getExtensionOperandType(NULL, "com.example.one", 1, &type), N);
    IS(ANeuralNetworksModel_getExtensionOperandType(model, NULL, 1, &type), N);
    IS(ANeuralNetworksModel_getExtensionOperandType(model, "com.example.one", 1, NULL), N);
    IS(ANeuralNetworksModel_getExtensionOperandType(model, "com.example.one", 1, &type), OK);
    IS(ANeuralNetworksModel_getExtensionOperandType(model, "com.example.one", 1, &again), OK);
    IS(ANeuralNetworksModel_getExtensionOperandType(model, "com.example.two", 1, &other), OK);
    IS(ANeuralNetworksModel_getExtensionOperationType(model, "com.example.one", 5, &operation), OK);
    TRUE_(type == again && type != other && (uint32_t)operation >> 16 == (uint32_t)type >> 16);
    IS(operation & 0xffff, 5);
    /* Unknown extensions get numbers all the same; their types are of no use. */
    Type unknown = {type, 1, TWO, 0, 0};
    IS(ANeuralNetworksModel_addOperand(model, &unknown), D);
    add(model, FLOAT2);
    add(model, FLOAT2);
    IS(ANeuralNetworksModel_setOperandExtensionData(NULL, 0, "x", 1), N);
    IS(ANeuralNetworksModel_setOperandExtensionData(model, 0, NULL, 1), N);
    IS(ANeuralNetworksModel_setOperandExtensionData(model, 9, "x", 1), D);
    IS(ANeuralNetworksModel_setOperandExtensionData(model, 0, "x", 1), D);
    IS(ANeuralNetworksModel_addOperation(model, operation, 1, first, 1, second), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, first, 1, second), OK);
    IS(ANeuralNetworksModel_finish(model), D);
    IS(ANeuralNetworksModel_setOperandExtensionData(model, 0, "x", 1), S);
    ANeuralNetworksModel_free(model);
}

/* What was asked before in this process has the same answer. */
static void asked_again(void)
{
    static const uint32_t arguments[] = {0, 1, 2}, result[] = {3};
    for (int i = 0; i < 3; i++) {
        Model *model = new_model();
        add(model, FLOAT2);
        add(model, FLOAT2);
        add(model, i == 1 ? FLOAT2 : INT);
        add(model, FLOAT2);
        IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, arguments, 1, result), i == 1 ? D : OK);
        IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_MUL, 3, arguments, 1, result), i == 1 ? D : OK);
        IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_POW, 3, arguments, 1, result), D);
        ANeuralNetworksModel_free(model);
        model = add_model(FLOAT2, FLOAT2, FLOAT2);
        add(model, (Type){ANEURALNETWORKS_TENSOR_INT32, 1, TWO, i == 1 ? -1.0f : 0.0f, 0});
        IS(ANeuralNetworksModel_setOperandValue(model, 4, TWO, 4), D);
        IS(ANeuralNetworksModel_setOperandValue(model, 4, HUGE_DIMS, 8), OK);
        IS(ANeuralNetworksModel_finish(model), i == 1 ? D : OK);
        ANeuralNetworksModel_free(model);
    }
}

static const struct test tests[] = {
    {"asked_again", asked_again},
    {"create", create}, {"add_operand", add_operand}, {"operand_types", operand_types},
    {"channel_scales", channel_scales}, {"channel_scales_of_other_types", channel_scales_of_other_types},
    {"set_operand_value", set_operand_value},
    {"set_value_from_memory", set_value_from_memory}, {"set_value_from_model", set_value_from_model},
    {"oem_parts", oem_parts}, {"add_operation", add_operation}, {"identify", identify}, {"relax", relax},
    {"finish", finish}, {"graphs", graphs}, {"found_at_the_end_only", found_at_the_end_only},
    {"devices_of_a_model", devices_of_a_model}, {"extensions", extensions},
};
MAIN(tests)
