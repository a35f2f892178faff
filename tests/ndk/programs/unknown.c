/* Extents that a model leaves to the run, after the standard's TestUnknownDimensions: (in0 + in1) + constant of 3 x 3, with
 * extents that are known, known and not told again, told as 3, or told as 2, which never fits. */
#include "cases.h"

enum kind { KNOWN, NOT_AGAIN, TOLD, TOLD_WRONG, KINDS };
enum { IN0, IN1, SUM, OPERANDS };

static const struct {
    int32_t code;
    size_t size;
    float scale;
    int32_t zero_point;
} types[] = {{ANEURALNETWORKS_TENSOR_FLOAT32, 4, 0, 0},
             {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, 1, 0},
             {ANEURALNETWORKS_TENSOR_FLOAT16, 2, 0, 0}};

/* One element of a type with the value 0, 1, 2 or 3. */
static void put(unsigned char *bytes, int type, size_t place, int value)
{
    static const uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200};
    float number = (float)value;
    if (type == 0)
        memcpy(bytes + 4 * place, &number, 4);
    else if (type == 1)
        bytes[place] = (unsigned char)value;
    else
        memcpy(bytes + 2 * place, &halves[value], 2);
}

static void one(int type, const enum kind kinds[OPERANDS][2], enum way way)
{
    static const uint32_t first[] = {0, 1, 4}, between[] = {5}, second[] = {5, 3, 4}, last[] = {2}, inputs[] = {0, 1};
    static const int32_t none;
    unsigned char constant[36], in[OPERANDS][36], expected[36];
    uint32_t three[] = {3, 3}, open[] = {0, 0};
    bool fits = true;
    Type base = {types[type].code, 2, three, types[type].scale, types[type].zero_point};
    Model *model = new_model();
    for (int operand = 0; operand < OPERANDS; operand++) {
        uint32_t dims[2];
        for (int axis = 0; axis < 2; axis++) {
            dims[axis] = kinds[operand][axis] < TOLD ? 3 : 0;
            fits &= kinds[operand][axis] != TOLD_WRONG;
        }
        Type kind = base;
        kind.dimensions = dims;
        add(model, kind);
    }
    add(model, base);
    add(model, INT);
    base.dimensions = open;
    add(model, base);
    for (size_t i = 0; i < 9; i++) {
        put(constant, type, i, 1);
        put(in[IN0], type, i, i % 2);
        put(in[IN1], type, i, i % 2 == 0);
        put(expected, type, i, 2);
    }
    IS(ANeuralNetworksModel_setOperandValue(model, 3, constant, 9 * types[type].size), OK);
    IS(ANeuralNetworksModel_setOperandValue(model, 4, &none, 4), OK);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, first, 1, between), OK);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, second, 1, last), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, last), OK);
    Compilation *compilation = compiled(finished(model));
    Execution *execution = new_execution(compilation);
    for (int operand = 0; operand < OPERANDS; operand++) {
        uint32_t dims[2];
        bool is_told = false;
        for (int axis = 0; axis < 2; axis++) {
            dims[axis] = kinds[operand][axis] == TOLD_WRONG ? 2 : 3;
            is_told |= kinds[operand][axis] != NOT_AGAIN;
        }
        Type kind = base;
        kind.dimensions = dims;
        size_t bytes = (size_t)dims[0] * dims[1] * types[type].size;
        IS(operand == SUM
               ? ANeuralNetworksExecution_setOutput(execution, 0, is_told ? &kind : NULL, in[SUM], bytes)
               : ANeuralNetworksExecution_setInput(execution, operand, is_told ? &kind : NULL, in[operand], bytes), OK);
    }
    int code = compute_by(way, execution, compilation);
    TRUE_((code == OK) == fits);
    if (!code)
        TRUE_(!memcmp(in[SUM], expected, 9 * types[type].size));
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

/* Every pair of kinds for each operand, the others drawn. */
static void all_of(int type)
{
    uint32_t random = 1;
    for (int operand = 0; operand < OPERANDS; operand++)
        for (int pair = 0; pair < KINDS * KINDS; pair++)
            for (int well = 0; well < 2; well++) {
                enum kind kinds[OPERANDS][2];
                for (int i = 0; i < 2 * OPERANDS; i++) {
                    random = random * 1664525 + 1013904223;
                    kinds[i / 2][i % 2] = (enum kind)((random >> 16) % (well ? TOLD_WRONG : KINDS));
                }
                kinds[operand][0] = (enum kind)(pair / KINDS);
                kinds[operand][1] = (enum kind)(pair % KINDS);
                one(type, (const enum kind(*)[2])kinds, pair % 2 ? FENCED : COMPUTE);
            }
}

static void floats(void)
{
    all_of(0);
}

static void codes(void)
{
    all_of(1);
}

static void halves(void)
{
    all_of(2);
}

/* A constant needs all of its extents. */
static void constants(void)
{
    static const unsigned char bytes[36];
    for (int type = 0; type < 3; type++)
        for (uint32_t known = 0; known < 2; known++) {
            uint32_t dims[] = {3 * known, 0};
            Model *model = new_model();
            add(model, (Type){types[type].code, 2, dims, types[type].scale, types[type].zero_point});
            IS(ANeuralNetworksModel_setOperandValue(model, 0, bytes, 9 * types[type].size), D);
            IS(ANeuralNetworksModel_finish(model), D);
            ANeuralNetworksModel_free(model);
        }
}

static const struct test tests[] = {
    {"floats", floats}, {"codes", codes}, {"halves", halves}, {"constants", constants},
};
MAIN(tests)
