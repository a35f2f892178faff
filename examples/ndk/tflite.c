/* Classifies a picture by a `.tflite` file, built by hand through the C functions:
 *
 *     tflite MODEL.tflite PICTURE [LABELS.txt]     PICTURE: .pgm or .ppm, binary; LABELS: a name in each line
 *
 * Takes networks of one picture and one row of scores, made of the operators in `build`: MobileNet v1 and v2, of floats or
 * quantized, with or without a scale for each channel. A `.tflite` file is a FlatBuffer: tables whose fields a table of
 * offsets names, all numbers little-endian. */
#include <android/NeuralNetworks.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANK = 6, MOST_INPUTS = 8, BEST = 3 };

static void fail(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(1);
}

static void must(int code, const char *what)
{
    if (code != ANEURALNETWORKS_NO_ERROR)
        fail("%s: result code %d (NNFAST_VLOG=all tells why)", what, code);
}
#define MUST(call) must(call, #call)

/* -- files ----------------------------------------------------------------------------------------------------------- */
/* Everything in a file, and a zero behind it. */
static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        fail("%s: cannot be read", path);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = calloc(1, *size + 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size)
        fail("%s: cannot be read", path);
    fclose(file);
    return bytes;
}

/* The `.tflite` file; everything is read by these three, so that a file that was cut short or changed is refused. */
static const uint8_t *model_file;
static size_t model_size;

static void check_inside(const uint8_t *at, size_t size)
{
    const uintptr_t offset = (uintptr_t)at - (uintptr_t)model_file;
    if (offset > model_size || size > model_size - offset)
        fail("the model file is damaged: it refers to bytes that it does not have");
}

static int u16(const uint8_t *at)
{
    check_inside(at, 2);
    return at[0] | at[1] << 8;
}

static uint32_t u32(const uint8_t *at)
{
    check_inside(at, 4);
    return (uint32_t)(at[0] | at[1] << 8 | at[2] << 16) | (uint32_t)at[3] << 24;
}

/* Where a field of a table is, or NULL for one that is not there. */
static const uint8_t *field(const uint8_t *table, int index)
{
    const uint8_t *offsets = table - (int32_t)u32(table);
    const int at = 4 + 2 * index, offset = at < u16(offsets) ? u16(offsets + at) : 0;
    return offset ? table + offset : NULL;
}

static int byte_of(const uint8_t *table, int index)
{
    const uint8_t *at = table ? field(table, index) : NULL;
    if (at)
        check_inside(at, 1);
    return at ? (int8_t)*at : 0;
}

static int32_t int_of(const uint8_t *table, int index, int32_t otherwise)
{
    const uint8_t *at = table ? field(table, index) : NULL;
    return at ? (int32_t)u32(at) : otherwise;
}

static float float_at(const uint8_t *at)
{
    const uint32_t bits = u32(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* What a field refers to: a table, or the elements of a vector. */
static const uint8_t *table_of(const uint8_t *table, int index)
{
    const uint8_t *at = table ? field(table, index) : NULL;
    return at ? at + u32(at) : NULL;
}

static const uint8_t *vector_of(const uint8_t *table, int index, uint32_t *count)
{
    const uint8_t *at = table_of(table, index);
    *count = at ? u32(at) : 0;
    return at ? at + 4 : NULL;
}

static const uint8_t *table_in(const uint8_t *vector, uint32_t index)
{
    if (!vector)
        fail("the model file is damaged: a list is missing");
    return vector + 4 * (size_t)index + u32(vector + 4 * (size_t)index);
}

/* -- tensors --------------------------------------------------------------------------------------------------------- */
enum { FLOAT32 = 0, INT32 = 2, UINT8 = 3, INT8 = 9 };

/* operand: its index in the model, once it was added. data: NULL unless it is a constant. */
struct tensor {
    int type;
    uint32_t rank, dims[MOST_RANK], scales_count, channel_dim, size;
    float scale, *scales;
    int32_t zero_point;
    const uint8_t *data;
    int64_t operand;
};

static ANeuralNetworksModel *model;
static uint32_t operands, tensor_count;
static struct tensor *tensors;

static struct tensor parse_tensor(const uint8_t *table, const uint8_t *buffers)
{
    struct tensor t = {.type = byte_of(table, 1), .operand = -1};
    uint32_t count;
    const uint8_t *shape = vector_of(table, 0, &t.rank), *quantization = table_of(table, 4);
    if (t.rank > MOST_RANK)
        fail("a tensor has %u dimensions", t.rank);
    for (uint32_t i = 0; i < t.rank; i++)
        t.dims[i] = u32(shape + 4 * i);
    const uint8_t *scales = vector_of(quantization, 2, &t.scales_count), *zeros = vector_of(quantization, 3, &count);
    t.scales = calloc(t.scales_count + 1, sizeof *t.scales);
    for (uint32_t i = 0; t.scales && i < t.scales_count; i++)
        t.scales[i] = float_at(scales + 4 * i);
    t.scale = t.scales_count == 1 ? t.scales[0] : 0;
    t.zero_point = t.scales_count == 1 && count ? (int32_t)u32(zeros) : 0;
    t.channel_dim = (uint32_t)int_of(quantization, 6, 0);
    t.data = vector_of(table_in(buffers, (uint32_t)int_of(table, 2, 0)), 0, &t.size);
    if (t.data)
        check_inside(t.data, t.size);
    return t;
}

/* The operand of a tensor. bias_scale: what the standard demands of a bias's, -1 for all others. */
static uint32_t operand_of(struct tensor *t, float bias_scale)
{
    if (t->operand >= 0)
        return (uint32_t)t->operand;
    const bool has_channels = t->scales_count > 1 && t->type == INT8;
    ANeuralNetworksOperandType type = {.dimensionCount = t->rank, .dimensions = t->dims};
    switch (t->type) {
    case FLOAT32: type.type = ANEURALNETWORKS_TENSOR_FLOAT32; break;
    case INT32:
        type.type = ANEURALNETWORKS_TENSOR_INT32;
        type.scale = bias_scale >= 0 ? bias_scale : 0;
        break;
    case UINT8: type.type = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM; break;
    case INT8:
        type.type = has_channels ? ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL
                                 : ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
        break;
    default: fail("a tensor has type %d, must be float32, int32, uint8 or int8", t->type);
    }
    if ((t->type == UINT8 || t->type == INT8) && !has_channels) {
        type.scale = t->scale;
        type.zeroPoint = t->zero_point;
    }
    MUST(ANeuralNetworksModel_addOperand(model, &type));
    t->operand = operands++;
    if (has_channels) {
        const ANeuralNetworksSymmPerChannelQuantParams channels = {t->channel_dim, t->scales_count, t->scales};
        MUST(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, (int32_t)t->operand, &channels));
    }
    if (t->data) /* large ones are not copied: the file must stay until the model is freed */
        MUST(ANeuralNetworksModel_setOperandValue(model, (int32_t)t->operand, t->data, t->size));
    return (uint32_t)t->operand;
}

static uint32_t scalar(int32_t type, const void *value)
{
    const ANeuralNetworksOperandType scalar = {.type = type};
    MUST(ANeuralNetworksModel_addOperand(model, &scalar));
    MUST(ANeuralNetworksModel_setOperandValue(model, (int32_t)operands, value, 4));
    return operands++;
}

static uint32_t integer(int32_t value)
{
    return scalar(ANEURALNETWORKS_INT32, &value);
}

/* -- operators ------------------------------------------------------------------------------------------------------- */
enum {
    ADD = 0, AVERAGE_POOL_2D = 1, CONV_2D = 3, DEPTHWISE_CONV_2D = 4, FULLY_CONNECTED = 9, MAX_POOL_2D = 17, RESHAPE = 22,
    SOFTMAX = 25, SQUEEZE = 43
};

/* Inputs of an operation. */
struct inputs {
    uint32_t count, list[12];
};

static void put(struct inputs *inputs, uint32_t operand)
{
    inputs->list[inputs->count++] = operand;
}

/* Padding and strides, fields 0 to 2 of the options of every window. TFLite counts paddings from 0, NNAPI from 1. */
static void put_window(struct inputs *inputs, const uint8_t *options)
{
    put(inputs, integer(byte_of(options, 0) + ANEURALNETWORKS_PADDING_SAME));
    put(inputs, integer(int_of(options, 1, 1)));
    put(inputs, integer(int_of(options, 2, 1)));
}

/* Adds one operator. x: its inputs, y: its output. */
static void build(int operator, const uint8_t *options, struct tensor *const *x, uint32_t count, struct tensor *y)
{
    struct inputs inputs = {0};
    int32_t type = 0, shape[MOST_RANK];
    if (!count || !x[0] || (operator == ADD && (count < 2 || !x[1])))
        fail("operator %d lacks an input", operator);
    put(&inputs, operand_of(x[0], -1));
    switch (operator) {
    case ADD:
        type = ANEURALNETWORKS_ADD;
        put(&inputs, operand_of(x[1], -1));
        put(&inputs, integer(byte_of(options, 0)));
        break;
    case AVERAGE_POOL_2D:
    case MAX_POOL_2D:
        type = operator == AVERAGE_POOL_2D ? ANEURALNETWORKS_AVERAGE_POOL_2D : ANEURALNETWORKS_MAX_POOL_2D;
        put_window(&inputs, options);
        put(&inputs, integer(int_of(options, 3, 1)));
        put(&inputs, integer(int_of(options, 4, 1)));
        put(&inputs, integer(byte_of(options, 5)));
        break;
    case CONV_2D:
    case DEPTHWISE_CONV_2D:
    case FULLY_CONNECTED:
        if (count < 3 || !x[1] || !x[2])
            fail("operator %d has no bias", operator);
        type = operator == CONV_2D ? ANEURALNETWORKS_CONV_2D
               : operator == DEPTHWISE_CONV_2D ? ANEURALNETWORKS_DEPTHWISE_CONV_2D : ANEURALNETWORKS_FULLY_CONNECTED;
        put(&inputs, operand_of(x[1], -1));
        put(&inputs, operand_of(x[2], x[1]->scales_count > 1 ? 0 : x[0]->scale * x[1]->scale));
        if (operator != FULLY_CONNECTED) {
            if (int_of(options, operator == CONV_2D ? 4 : 5, 1) != 1)
                fail("operator %d is dilated", operator);
            put_window(&inputs, options);
        }
        if (operator == DEPTHWISE_CONV_2D)
            put(&inputs, integer(int_of(options, 3, 1)));
        put(&inputs, integer(byte_of(options, operator == FULLY_CONNECTED ? 0 : operator == CONV_2D ? 3 : 4)));
        break;
    case RESHAPE:
    case SQUEEZE: /* which is one */
        type = ANEURALNETWORKS_RESHAPE;
        for (uint32_t i = 0; i < y->rank; i++)
            shape[i] = (int32_t)y->dims[i];
        const ANeuralNetworksOperandType list = {ANEURALNETWORKS_TENSOR_INT32, 1, &y->rank, 0, 0};
        MUST(ANeuralNetworksModel_addOperand(model, &list));
        MUST(ANeuralNetworksModel_setOperandValue(model, (int32_t)operands, shape, 4 * y->rank));
        put(&inputs, operands++);
        break;
    case SOFTMAX: {
        const uint8_t *at = options ? field(options, 0) : NULL;
        const float beta = at ? float_at(at) : 0;
        type = ANEURALNETWORKS_SOFTMAX;
        put(&inputs, scalar(ANEURALNETWORKS_FLOAT32, &beta));
        break;
    }
    default: fail("operator %d of TFLite is not among those that this example builds", operator);
    }
    const uint32_t output = operand_of(y, -1);
    MUST(ANeuralNetworksModel_addOperation(model, type, inputs.count, inputs.list, 1, &output));
}

static struct tensor *tensor_at(uint32_t index)
{
    if (index >= tensor_count)
        fail("the model file is damaged: it has no tensor %u", index);
    return &tensors[index];
}

/* Builds the first subgraph of a file; *from and *to are its input and output. */
static void build_file(struct tensor **from, struct tensor **to)
{
    const uint8_t *root = model_file + u32(model_file);
    uint32_t count, operators, inputs, outputs, codes_count;
    const uint8_t *codes = vector_of(root, 1, &codes_count), *subgraphs = vector_of(root, 2, &count);
    const uint8_t *buffers = vector_of(root, 4, &count), *graph = table_in(subgraphs, 0);
    const uint8_t *rows = vector_of(graph, 0, &count), *steps = vector_of(graph, 3, &operators);
    const uint8_t *in = vector_of(graph, 1, &inputs), *out = vector_of(graph, 2, &outputs);
    if (inputs != 1 || outputs != 1)
        fail("the model has %u inputs and %u outputs, must have one of each", inputs, outputs);
    check_inside(rows, count); /* each takes four bytes at least */
    tensors = calloc(count, sizeof *tensors);
    for (; tensors && tensor_count < count; tensor_count++)
        tensors[tensor_count] = parse_tensor(table_in(rows, tensor_count), buffers);
    *from = tensor_at(u32(in));
    *to = tensor_at(u32(out));
    MUST(ANeuralNetworksModel_create(&model));
    const uint32_t input = operand_of(*from, -1);
    for (uint32_t i = 0; i < operators; i++) {
        const uint8_t *step = table_in(steps, i), *code = table_in(codes, (uint32_t)int_of(step, 0, 0));
        const uint8_t *taken = vector_of(step, 1, &inputs), *made = vector_of(step, 2, &outputs);
        struct tensor *x[MOST_INPUTS] = {NULL};
        for (uint32_t k = 0; k < inputs && k < MOST_INPUTS; k++)
            x[k] = u32(taken + 4 * k) == UINT32_MAX ? NULL : tensor_at(u32(taken + 4 * k)); /* UINT32_MAX: omitted */
        /* Codes up to 127 stood in a byte before there were more of them. */
        build(byte_of(code, 0) > int_of(code, 3, 0) ? byte_of(code, 0) : int_of(code, 3, 0), table_of(step, 4), x, inputs,
              tensor_at(outputs == 1 ? u32(made) : UINT32_MAX));
    }
    const uint32_t output = operand_of(*to, -1);
    MUST(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &output));
    MUST(ANeuralNetworksModel_finish(model));
}

/* -- pictures -------------------------------------------------------------------------------------------------------- */
/* The values of a picture for an input [1, height, width, channels]: the nearest pixels; floats from -1 to 1. */
static void *values_of(const char *path, const struct tensor *input, size_t *size)
{
    size_t bytes;
    uint8_t *file = read_file(path, &bytes);
    unsigned width, height, most;
    int start = 0;
    if (bytes < 8 || file[0] != 'P' || (file[1] != '5' && file[1] != '6') ||
        sscanf((const char *)file + 2, " %u %u %u%n", &width, &height, &most, &start) != 3 || most != 255 || !width ||
        !height || 3 + (size_t)start + (size_t)width * height * (file[1] == '6' ? 3 : 1) > bytes)
        fail("%s: must be a binary .pgm or .ppm with 8 bits a value", path);
    if (input->rank != 4)
        fail("the model's input has %u dimensions, must be [1, height, width, channels]", input->rank);
    const uint8_t *pixels = file + 3 + start;
    const uint32_t rows = input->dims[1], columns = input->dims[2], channels = input->dims[3], own = file[1] == '6' ? 3 : 1;
    const size_t count = (size_t)rows * columns * channels;
    float *floats = calloc(count, sizeof *floats);
    uint8_t *codes = (uint8_t *)floats;
    for (size_t i = 0; floats && i < count; i++) {
        const size_t y = i / channels / columns * height / rows, x = i / channels % columns * width / columns;
        const uint8_t pixel = pixels[(y * width + x) * own + i % channels % own];
        if (input->type == FLOAT32)
            floats[i] = (float)pixel / 127.5f - 1;
        else
            codes[i] = input->type == INT8 ? pixel ^ 128 : pixel;
    }
    free(file);
    *size = count * (input->type == FLOAT32 ? sizeof *floats : 1);
    return floats;
}

static double score_of(const struct tensor *output, const uint8_t *scores, size_t index)
{
    if (output->type == FLOAT32)
        return ((const float *)(const void *)scores)[index];
    const int code = output->type == INT8 ? (int8_t)scores[index] : scores[index];
    return output->scale * (code - output->zero_point);
}

/* Prints the classes of the highest scores. */
static void print_best(const struct tensor *output, const uint8_t *scores, size_t count, const char *labels)
{
    size_t size;
    uint8_t *names = labels ? read_file(labels, &size) : NULL;
    bool *is_told = calloc(count, sizeof *is_told);
    for (size_t rank = 0; is_told && rank < BEST && rank < count; rank++) {
        size_t best = count;
        for (size_t i = 0; i < count; i++)
            if (!is_told[i] && (best == count || score_of(output, scores, i) > score_of(output, scores, best)))
                best = i;
        is_told[best] = true;
        const char *name = (const char *)names;
        for (size_t line = 0; line < best && name; line++)
            name = (name = strchr(name, '\n')) ? name + 1 : NULL;
        printf("%zu %.3f %.*s\n", best, score_of(output, scores, best), name ? (int)strcspn(name, "\r\n") : 0,
               name ? name : "");
    }
    free(is_told);
    free(names);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "tflite MODEL.tflite PICTURE [LABELS.txt]\n");
        return 2;
    }
    size_t input_size;
    struct tensor *from, *to;
    uint8_t *file = read_file(argv[1], &model_size);
    model_file = file;
    if (model_size < 8 || memcmp(file + 4, "TFL3", 4))
        fail("%s: is no .tflite file", argv[1]);
    build_file(&from, &to);
    void *input = values_of(argv[2], from, &input_size);
    size_t count = 1;
    for (uint32_t i = 0; i < to->rank; i++)
        count *= to->dims[i];
    uint8_t *scores = calloc(count, sizeof(float));

    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    MUST(ANeuralNetworksCompilation_create(model, &compilation));
    MUST(ANeuralNetworksCompilation_finish(compilation));
    MUST(ANeuralNetworksExecution_create(compilation, &execution));
    MUST(ANeuralNetworksExecution_setInput(execution, 0, NULL, input, input_size));
    MUST(ANeuralNetworksExecution_setOutput(execution, 0, NULL, scores, count * (to->type == FLOAT32 ? sizeof(float) : 1)));
    MUST(ANeuralNetworksExecution_compute(execution));
    print_best(to, scores, count, argc > 3 ? argv[3] : NULL);

    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    for (uint32_t i = 0; i < tensor_count; i++)
        free(tensors[i].scales);
    free(tensors);
    free(scores);
    free(input);
    free(file);
    return 0;
}
