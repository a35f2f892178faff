/* IF and WHILE: what meets at the border of a model within a model must fit, as far as it is known. */
#include "cases.h"

enum { KINDS = 3 }; /* of a shape: known, of unknown extent, of unknown rank */

static Type kind(int number)
{
    static const Type kinds[KINDS] = {{ANEURALNETWORKS_TENSOR_FLOAT32, 1, ONE, 0, 0},
                                      {ANEURALNETWORKS_TENSOR_FLOAT32, 1, OPEN, 0, 0},
                                      {ANEURALNETWORKS_TENSOR_FLOAT32, 0, NULL, 0, 0}};
    return kinds[number];
}

static const Type TRUTH = {ANEURALNETWORKS_TENSOR_BOOL8, 1, ONE, 0, 0};

/* A model of one operation: RELU of an input, or LESS of it with itself. */
static Model *inner(Type input, Type output, ANeuralNetworksOperationType operation)
{
    static const uint32_t in[] = {0, 0}, out[] = {1};
    Model *model = new_model();
    add(model, input);
    add(model, output);
    IS(ANeuralNetworksModel_addOperation(model, operation, operation == ANEURALNETWORKS_LESS ? 2 : 1, in, 1, out), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, in, 1, out), OK);
    return finished(model);
}

/* What comes of y = IF(choice, one, other, x) or y = WHILE(one, other, x). */
static int outer(ANeuralNetworksOperationType operation, Type choice, Model *one, Model *other, Type x, Type y,
                 uint32_t count)
{
    static const uint32_t of_if[] = {0, 1, 2, 3, 3}, of_while[] = {1, 2, 3, 3}, out[] = {4};
    bool is_if = operation == ANEURALNETWORKS_IF;
    Model *model = new_model();
    add(model, choice);
    add(model, (Type){ANEURALNETWORKS_MODEL, 0, NULL, 0, 0});
    add(model, (Type){ANEURALNETWORKS_MODEL, 0, NULL, 0, 0});
    add(model, x);
    add(model, y);
    IS(ANeuralNetworksModel_setOperandValueFromModel(model, 1, one), OK);
    IS(ANeuralNetworksModel_setOperandValueFromModel(model, 2, other), OK);
    int code = ANeuralNetworksModel_addOperation(model, operation, (is_if ? 3 : 2) + count, is_if ? of_if : of_while, 1,
                                                 out);
    ANeuralNetworksModel_free(model);
    return code;
}

static void shapes(void)
{
    for (int i = 0; i < KINDS * KINDS * KINDS; i++) {
        Type of_outer = kind(i % KINDS), of_one = kind(i / KINDS % KINDS), of_other = kind(i / KINDS / KINDS);
        Model *one = inner(of_one, of_one, ANEURALNETWORKS_RELU);
        Model *other = inner(of_other, of_other, ANEURALNETWORKS_RELU);
        Model *less = inner(of_one, TRUTH, ANEURALNETWORKS_LESS);
        IS(outer(ANEURALNETWORKS_IF, TRUTH, one, other, of_outer, of_outer, 1), OK);
        IS(outer(ANEURALNETWORKS_WHILE, TRUTH, less, other, of_outer, of_outer, 1), OK);
        ANeuralNetworksModel_free(one);
        ANeuralNetworksModel_free(other);
        ANeuralNetworksModel_free(less);
    }
}

static void misfits(void)
{
    Type known = kind(0), half = {ANEURALNETWORKS_TENSOR_FLOAT16, 1, ONE, 0, 0};
    Type flag = {ANEURALNETWORKS_BOOL, 0, NULL, 0, 0};
    Type number = {ANEURALNETWORKS_TENSOR_INT32, 1, ONE, 0, 0};
    Model *same = inner(known, known, ANEURALNETWORKS_RELU), *of_half = inner(half, half, ANEURALNETWORKS_RELU);
    Model *wide = inner(FLOAT2, FLOAT2, ANEURALNETWORKS_RELU), *less = inner(known, TRUTH, ANEURALNETWORKS_LESS);
    Model *less_half = inner(half, TRUTH, ANEURALNETWORKS_LESS);
    struct {
        ANeuralNetworksOperationType operation;
        Type choice;
        Model *one, *other;
        Type x, y;
        uint32_t count;
        bool fits;
    } rows[] = {
        {ANEURALNETWORKS_IF, TRUTH, same, same, known, known, 1, true},
        {ANEURALNETWORKS_IF, number, same, same, known, known, 1, false},
        {ANEURALNETWORKS_IF, flag, same, same, known, known, 1, false},
        {ANEURALNETWORKS_IF, TRUTH, same, of_half, known, known, 1, false},
        {ANEURALNETWORKS_IF, TRUTH, of_half, same, known, known, 1, false},
        {ANEURALNETWORKS_IF, TRUTH, same, same, half, known, 1, false},
        {ANEURALNETWORKS_IF, TRUTH, same, same, known, half, 1, false},
        {ANEURALNETWORKS_IF, TRUTH, same, same, known, known, 0, false},
        {ANEURALNETWORKS_IF, TRUTH, same, same, known, known, 2, false},
        {ANEURALNETWORKS_IF, TRUTH, wide, same, known, known, 1, false},
        {ANEURALNETWORKS_IF, TRUTH, same, wide, known, known, 1, false},
        {ANEURALNETWORKS_WHILE, TRUTH, less, same, known, known, 1, true},
        {ANEURALNETWORKS_WHILE, TRUTH, same, same, known, known, 1, false},
        {ANEURALNETWORKS_WHILE, TRUTH, less_half, same, known, known, 1, false},
        {ANEURALNETWORKS_WHILE, TRUTH, less, of_half, known, known, 1, false},
        {ANEURALNETWORKS_WHILE, TRUTH, less, same, half, known, 1, false},
        {ANEURALNETWORKS_WHILE, TRUTH, less, same, known, half, 1, false},
        {ANEURALNETWORKS_WHILE, TRUTH, less, same, known, known, 0, false},
        {ANEURALNETWORKS_WHILE, TRUTH, less, same, known, known, 2, false},
        {ANEURALNETWORKS_WHILE, TRUTH, less, wide, known, known, 1, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int before = wrong;
        TRUE_(rows[i].fits == !outer(rows[i].operation, rows[i].choice, rows[i].one, rows[i].other, rows[i].x, rows[i].y,
                                     rows[i].count));
        if (wrong > before)
            printf("in row %d\n", (int)i);
    }
    ANeuralNetworksModel_free(same);
    ANeuralNetworksModel_free(of_half);
    ANeuralNetworksModel_free(wide);
    ANeuralNetworksModel_free(less);
    ANeuralNetworksModel_free(less_half);
}

static const struct test tests[] = {{"shapes", shapes}, {"misfits", misfits}};
MAIN(tests)
