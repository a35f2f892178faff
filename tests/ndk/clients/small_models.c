/* Many different small models, each through everything that a test of the standard does with one.
 *
 *     small_models FIRST COUNT [CACHE]    models FIRST to FIRST + COUNT - 1; prints the microseconds of each stage per
 *                                         model. CACHE: compile once, with files in this directory; "-": without
 *
 * A model has one to three operations on its input; the number says which, with which shapes and constants. It is built,
 * asked about, compiled with each preference (or once), and run in six ways; then everything is freed. */
#include "../programs/cases.h"
#include <time.h>

enum { BUILD, ASK, COMPILE, RUN, FREE, STAGES, KINDS = 8, MOST = 512, RUNS = 6 };

static const char *const stages[] = {"build", "ask", "compile", "run", "free"};
static double spent[STAGES], since;
static const char *cache;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

static void ends(int stage)
{
    double time = now();
    spent[stage] += time - since;
    since = time;
}

/* -- a model --------------------------------------------------------------------------------------------------------- */
struct building {
    Model *model;
    uint32_t operands, shape[4];
    unsigned seed;
};

static unsigned next(struct building *b)
{
    b->seed = b->seed * 1664525u + 1013904223u;
    return b->seed >> 16;
}

static uint32_t operand(struct building *b, int32_t type, uint32_t rank, const uint32_t *dims)
{
    add(b->model, (Type){type, rank, rank ? dims : NULL, 0, 0});
    return b->operands++;
}

static uint32_t constant(struct building *b, int32_t type, uint32_t rank, const uint32_t *dims, const void *values,
                         size_t size)
{
    uint32_t made = operand(b, type, rank, dims);
    IS(ANeuralNetworksModel_setOperandValue(b->model, (int32_t)made, values, size), OK);
    return made;
}

static uint32_t number(struct building *b, int32_t value)
{
    return constant(b, ANEURALNETWORKS_INT32, 0, NULL, &value, sizeof value);
}

static uint32_t tensor(struct building *b, uint32_t rank, const uint32_t *dims)
{
    float values[MOST];
    size_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= dims[i];
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(next(b) % 1000) / 500 - 1;
    return constant(b, ANEURALNETWORKS_TENSOR_FLOAT32, rank, dims, values, count * sizeof *values);
}

/* Puts one operation of a kind behind operand x; returns its output. */
static uint32_t operation(struct building *b, unsigned kind, uint32_t x)
{
    static const int32_t plain[] = {ANEURALNETWORKS_TANH, ANEURALNETWORKS_LOGISTIC, ANEURALNETWORKS_RELU,
                                    ANEURALNETWORKS_ABS};
    const uint32_t depth = b->shape[3], filter[] = {4, 2, 2, depth}, four[] = {4}, one[] = {1};
    uint32_t inputs[10] = {x}, count = 1, y;
    int32_t type;
    switch (kind) {
    case 0:
    case 1:
        type = kind ? ANEURALNETWORKS_MUL : ANEURALNETWORKS_ADD;
        inputs[count++] = tensor(b, 1, &depth);
        inputs[count++] = number(b, (int32_t)(next(b) % 4));
        break;
    case 2:
        type = ANEURALNETWORKS_CONV_2D;
        inputs[count++] = tensor(b, 4, filter);
        inputs[count++] = tensor(b, 1, four);
        inputs[count++] = number(b, ANEURALNETWORKS_PADDING_SAME);
        inputs[count++] = number(b, 1);
        inputs[count++] = number(b, 1);
        inputs[count++] = number(b, (int32_t)(next(b) % 4));
        b->shape[3] = 4;
        break;
    case 3:
        type = ANEURALNETWORKS_MAX_POOL_2D;
        inputs[count++] = number(b, ANEURALNETWORKS_PADDING_SAME);
        for (int i = 0; i < 4; i++)
            inputs[count++] = number(b, i < 2 ? 1 : 2);
        inputs[count++] = number(b, ANEURALNETWORKS_FUSED_NONE);
        break;
    case 4: {
        const float beta = 1;
        type = ANEURALNETWORKS_SOFTMAX;
        inputs[count++] = constant(b, ANEURALNETWORKS_FLOAT32, 0, NULL, &beta, sizeof beta);
        break;
    }
    case 5: {
        static const int32_t order[] = {0, 2, 1, 3};
        uint32_t height = b->shape[1];
        type = ANEURALNETWORKS_TRANSPOSE;
        inputs[count++] = constant(b, ANEURALNETWORKS_TENSOR_INT32, 1, four, order, sizeof order);
        b->shape[1] = b->shape[2];
        b->shape[2] = height;
        break;
    }
    case 6: {
        static const int32_t axis = 1;
        type = ANEURALNETWORKS_MEAN;
        inputs[count++] = constant(b, ANEURALNETWORKS_TENSOR_INT32, 1, one, &axis, sizeof axis);
        inputs[count++] = number(b, 1);
        b->shape[1] = 1;
        break;
    }
    default: type = plain[next(b) % 4];
    }
    y = operand(b, ANEURALNETWORKS_TENSOR_FLOAT32, 4, b->shape);
    IS(ANeuralNetworksModel_addOperation(b->model, type, count, inputs, 1, &y), OK);
    return y;
}

static size_t elements(const uint32_t *shape)
{
    return (size_t)shape[0] * shape[1] * shape[2] * shape[3];
}

/* in, out: elements of the input and of the output. */
static Model *build(unsigned which, uint32_t *operations, size_t *in, size_t *out)
{
    struct building b = {.model = new_model(), .seed = which};
    next(&b);
    const uint32_t shape[] = {1, 2 + next(&b) % 3, 2 + next(&b) % 3, 1 + next(&b) % 4}, x = 0;
    memcpy(b.shape, shape, sizeof shape);
    *operations = 1 + which % 3;
    *in = elements(shape);
    operand(&b, ANEURALNETWORKS_TENSOR_FLOAT32, 4, shape);
    uint32_t y = x;
    for (uint32_t i = 0; i < *operations; i++)
        y = operation(&b, next(&b) % KINDS, y);
    *out = elements(b.shape);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(b.model, 1, &x, 1, &y), OK);
    return finished(b.model);
}

/* -- a test ---------------------------------------------------------------------------------------------------------- */
static void run(Compilation *compilation, int way, const float *x, size_t in, float *y, size_t out)
{
    Execution *execution = new_execution(compilation);
    bool is_reusable = way >= WAYS;
    if (is_reusable)
        IS(ANeuralNetworksExecution_setReusable(execution, true), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, in * sizeof *x), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, y, out * sizeof *y), OK);
    for (int i = 0; i <= is_reusable; i++)
        IS(compute_by(is_reusable ? COMPUTE : (enum way)way, execution, compilation), OK);
    ANeuralNetworksExecution_free(execution);
}

static void test(unsigned which)
{
    const Device *devices[] = {device(0)};
    Compilation *compilations[3];
    const int compiled = cache ? 1 : 3;
    const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {which & 255, which >> 8 & 255, which >> 16};
    bool supported[3] = {false};
    float x[MOST], y[2][MOST];
    uint32_t operations;
    size_t in, out;
    since = now();
    Model *model = build(which, &operations, &in, &out);
    ends(BUILD);
    IS(ANeuralNetworksModel_getSupportedOperationsForDevices(model, devices, 1, supported), OK);
    for (uint32_t i = 0; i < operations; i++)
        TRUE_(supported[i]);
    ends(ASK);
    for (int i = 0; i < compiled; i++) {
        IS(ANeuralNetworksCompilation_createForDevices(model, devices, 1, &compilations[i]), OK);
        IS(ANeuralNetworksCompilation_setPreference(compilations[i], i), OK);
        if (cache && strcmp(cache, "-"))
            IS(ANeuralNetworksCompilation_setCaching(compilations[i], cache, token), OK);
        IS(ANeuralNetworksCompilation_finish(compilations[i]), OK);
    }
    ends(COMPILE);
    for (size_t i = 0; i < in; i++)
        x[i] = (float)i / 8 - 1;
    for (int i = 0; i < RUNS - 1; i++) { /* the last execution runs twice */
        run(compilations[i % compiled], i, x, in, y[i > 0], out);
        TRUE_(!memcmp(y[0], y[i > 0], out * sizeof(float)));
    }
    ends(RUN);
    for (int i = 0; i < compiled; i++)
        ANeuralNetworksCompilation_free(compilations[i]);
    ANeuralNetworksModel_free(model);
    ends(FREE);
}

int main(int argc, char **argv)
{
    unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 0, count = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    cache = argc > 3 ? argv[3] : NULL;
    for (unsigned i = first; i < first + count; i++)
        test(i);
    for (int i = 0; i < STAGES; i++)
        printf("%s %.0f\n", stages[i], spent[i] / (count ? count : 1));
    return wrong ? 1 : 0;
}
