/* Shapes that a model leaves open, after the standard's TestUnspecifiedDimensions: every way to tell them, and to tell
 * them wrong, at the model and at run time, in buffers and memories, of half, exact and double length.
 *
 *     op2 = op0 [2, B] + op1 [2, 1]        op4 [B, 2] = TRANSPOSE(op2, op3: omitted, which reverses the axes) */
#include "cases.h"

enum role { NO_ROLE, IN, CONSTANT, BETWEEN, OMITTED_CONSTANT, OMITTED_INPUT, OUT, ROLES };
enum level { FULL, NO_EXTENT, NO_RANK, NO_TYPE, LEVELS };
enum length { HALF, EXACT, TWICE, LENGTHS };
enum padding { UNTOUCHED, ON, OFF, PADDINGS };

/* What a model has: the level of one role, and whether its known extent is the wrong one. */
struct made {
    enum role role;
    enum level level;
    bool is_wrong;
    uint32_t b;
};

static Type shape(uint32_t *dims, int32_t type, uint32_t rank, int known, enum level level, uint32_t a, uint32_t b)
{
    Type made = {type, rank, dims, 0, 0};
    dims[known] = a;
    if (rank == 2)
        dims[1 - known] = level == NO_EXTENT ? 0 : b;
    else if (level == NO_EXTENT)
        dims[0] = 0;
    if (level == NO_RANK)
        made = (Type){type, 0, NULL, 0, 0};
    return made;
}

/* NULL if the constant is refused, and then the model. */
static Model *build(struct made made)
{
    static const uint32_t add_in[] = {0, 1, 5}, add_out[] = {2}, turn_in[] = {2, 3}, turn_out[] = {4};
    static const float constant[] = {1, 2};
    static const int32_t none;
    const bool omits_input = made.role == OMITTED_INPUT;
    const uint32_t inputs[] = {0, 3};
    Model *model = new_model();
    for (enum role role = IN; role <= OUT; role++) {
        bool is_it = made.role == role || (role == OMITTED_CONSTANT && omits_input);
        enum level level = is_it ? made.level : FULL;
        uint32_t a = is_it && made.is_wrong ? 3 : 2, dims[2];
        if (role == OMITTED_INPUT)
            continue; /* the same operand */
        add(model, role == OMITTED_CONSTANT ? shape(dims, ANEURALNETWORKS_TENSOR_INT32, 1, 0, level, 2, 0)
                                            : shape(dims, ANEURALNETWORKS_TENSOR_FLOAT32, 2, role == OUT, level, a,
                                                    role == CONSTANT ? 1 : made.b));
    }
    add(model, INT);
    IS(ANeuralNetworksModel_setOperandValue(model, 5, &none, 4), OK);
    bool is_refused = made.role == CONSTANT && (made.level != FULL || made.is_wrong);
    IS(ANeuralNetworksModel_setOperandValue(model, 1, constant, 8), is_refused ? D : OK);
    if (!omits_input)
        IS(ANeuralNetworksModel_setOperandValue(model, 3, NULL, 0), OK);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, add_in, 1, add_out), OK);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_TRANSPOSE, 2, turn_in, 1, turn_out), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, omits_input ? 2 : 1, inputs, 1, turn_out), OK);
    IS(ANeuralNetworksModel_finish(model), is_refused ? D : OK);
    if (!is_refused)
        return model;
    ANeuralNetworksModel_free(model);
    return NULL;
}

static int by_length(enum length length, enum padding padding)
{
    return length == HALF || (length == TWICE && padding != ON) ? D : OK;
}

/* How an execution is given its arguments; run: the level of the role's type. */
struct given {
    enum level run;
    bool is_wrong, in_memory;
    enum length length;
    enum padding padding;
};

static int input_code(struct made made, struct given given)
{
    enum level model = made.role == IN ? made.level : FULL;
    bool is_wrong = made.role == IN && made.is_wrong != given.is_wrong;
    if (made.role != IN)
        return OK;
    switch (given.run) {
    case NO_EXTENT:
    case NO_RANK: return D;
    case NO_TYPE: return model != FULL ? D : by_length(given.length, given.padding);
    default: return is_wrong && model != NO_RANK ? D : by_length(given.length, given.padding);
    }
}

static int omitted_code(struct made made, struct given given)
{
    if (given.run == NO_EXTENT)
        return made.level == FULL ? D : OK;
    return given.run == NO_RANK && made.level != NO_RANK ? D : OK;
}

static int output_code(struct made made, struct given given)
{
    bool is_wrong = made.is_wrong != given.is_wrong;
    if (made.role != OUT)
        return OK;
    switch (given.run) {
    case NO_EXTENT: return made.level == FULL || (is_wrong && made.level != NO_RANK) ? D : OK;
    case NO_RANK: return made.level == NO_RANK ? OK : D;
    case NO_TYPE: return made.level == FULL ? by_length(given.length, given.padding) : OK;
    default: return is_wrong && made.level != NO_RANK ? D : by_length(given.length, given.padding);
    }
}

static size_t bytes_of(enum length length, size_t size)
{
    return length == HALF ? size / 2 : length == TWICE ? 2 * size : size;
}

/* Runs an execution, if its arguments are taken; a run of them that must not succeed does not. */
static void execute(Compilation *compilation, struct made made, struct given given)
{
    static float *in, *out;
    static Memory *in_memory, *out_memory;
    if (!in) {
        in_memory = shared(256, (void **)&in);
        out_memory = shared(256, (void **)&out);
    }
    Execution *execution = new_execution(compilation);
    if (given.padding != UNTOUCHED)
        IS(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, given.padding == ON), OK);
    uint32_t in_dims[2], out_dims[2], omitted_dims[1], a[ROLES];
    enum level run[ROLES];
    for (int role = 0; role < ROLES; role++) {
        bool is_it = (int)made.role == role;
        run[role] = is_it ? given.run : FULL;
        a[role] = is_it && (given.run == NO_TYPE ? made.is_wrong : given.is_wrong) ? 3 : 2;
    }
    Type in_type = shape(in_dims, ANEURALNETWORKS_TENSOR_FLOAT32, 2, 0, run[IN], a[IN], made.b);
    Type out_type = shape(out_dims, ANEURALNETWORKS_TENSOR_FLOAT32, 2, 1, run[OUT], a[OUT], made.b);
    Type omitted = shape(omitted_dims, ANEURALNETWORKS_TENSOR_INT32, 1, 0, run[OMITTED_INPUT], 2, 0);
    const Type *in_given = run[IN] == NO_TYPE ? NULL : &in_type, *out_given = run[OUT] == NO_TYPE ? NULL : &out_type;
    size_t in_bytes = bytes_of(made.role == IN ? given.length : EXACT, 4 * a[IN] * made.b);
    size_t out_bytes = bytes_of(made.role == OUT ? given.length : EXACT, 4 * a[OUT] * made.b);
    for (int i = 0; i < 64; i++) {
        in[i] = (float)i;
        out[i] = -1;
    }
    int code = input_code(made, given), all = code;
    IS(given.in_memory ? ANeuralNetworksExecution_setInputFromMemory(execution, 0, in_given, in_memory, 0, in_bytes)
                       : ANeuralNetworksExecution_setInput(execution, 0, in_given, in, in_bytes), code);
    if (made.role == OMITTED_INPUT) {
        code = omitted_code(made, given);
        all = all ? all : code;
        IS(ANeuralNetworksExecution_setInput(execution, 1, run[OMITTED_INPUT] == NO_TYPE ? NULL : &omitted, NULL, 0),
           code);
    }
    code = output_code(made, given);
    all = all ? all : code;
    IS(given.in_memory ? ANeuralNetworksExecution_setOutputFromMemory(execution, 0, out_given, out_memory, 0, out_bytes)
                       : ANeuralNetworksExecution_setOutput(execution, 0, out_given, out, out_bytes), code);
    if (!all) {
        bool knows_wrong = given.is_wrong && given.run != NO_TYPE && given.run != NO_RANK;
        bool model_is_wrong = made.is_wrong && made.level != NO_RANK;
        bool is_small = made.role == OUT && given.length == HALF;
        bool is_wrong = (made.role != OMITTED_INPUT && made.role != OMITTED_CONSTANT) &&
                        (model_is_wrong || ((made.role == IN || made.role == OUT) && knows_wrong));
        int expected = is_wrong ? F : is_small ? SIZE : OK;
        uint32_t rank = 0, dims[2] = {0};
        IS(ANeuralNetworksExecution_compute(execution), expected);
        if (expected != F) {
            IS(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank), expected);
            IS(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims), expected);
            TRUE_(rank == 2 && dims[0] == made.b && dims[1] == 2);
        }
        if (!expected)
            for (uint32_t row = 0; row < 2; row++)
                for (uint32_t column = 0; column < made.b; column++)
                    TRUE_(out[2 * column + row] == in[made.b * row + column] + (float)(row + 1));
    }
    ANeuralNetworksExecution_free(execution);
}

static void executions(Compilation *compilation, struct made made)
{
    bool has_run_time = made.role == IN || made.role == OUT || made.role == OMITTED_INPUT;
    bool has_bytes = made.role == IN || made.role == OUT;
    for (enum level run = FULL; run < (has_run_time ? LEVELS : NO_EXTENT); run++)
        for (int wrong = 0; wrong <= (has_bytes && !made.is_wrong); wrong++)
            for (int in_memory = 0; in_memory < 2; in_memory++)
                for (int length = has_bytes ? HALF : EXACT; length < (has_bytes ? LENGTHS : TWICE); length++)
                    for (enum padding padding = UNTOUCHED; padding < PADDINGS; padding++)
                        execute(compilation, made, (struct given){run, wrong, in_memory, (enum length)length, padding});
}

static void all_of(enum role role)
{
    for (uint32_t b = 1; b <= 2; b++)
        for (enum level level = FULL; level < NO_TYPE; level++)
            for (int wrong = 0; wrong <= (role != OMITTED_CONSTANT && role != OMITTED_INPUT); wrong++) {
                struct made made = {role, level, wrong, b};
                Model *model = build(made);
                if (!model)
                    continue;
                Compilation *compilation = compiled(model);
                executions(compilation, made);
                ANeuralNetworksCompilation_free(compilation);
                ANeuralNetworksModel_free(model);
            }
}

static void input(void)
{
    all_of(IN);
}

static void constant(void)
{
    all_of(CONSTANT);
}

static void between(void)
{
    all_of(BETWEEN);
}

static void omitted(void)
{
    all_of(OMITTED_CONSTANT);
    all_of(OMITTED_INPUT);
}

static void output(void)
{
    all_of(OUT);
}

static const struct test tests[] = {
    {"input", input}, {"constant", constant}, {"between", between}, {"omitted", omitted}, {"output", output},
};
MAIN(tests)
