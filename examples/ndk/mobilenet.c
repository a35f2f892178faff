/* A network of the kind of MobileNet, built by hand: a convolution, blocks of a depthwise and a pointwise convolution, a
 * mean, a dense layer, a softmax. It looks at pictures of 32 x 32 whose halves have two brightnesses, and tells which
 * half is brighter; its weights are written down, not trained.
 *
 * The pictures lie in memory that the driver's process maps, and a reusable execution runs in a burst: the way for many
 * pictures one after the other. */
#include <android/NeuralNetworks.h>
#include <android/sharedmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIDE = 32, BLOCKS = 3, FIRST = 8, CLASSES = 2, RUNS = 200 };

static void must(int code, const char *what)
{
    if (code != ANEURALNETWORKS_NO_ERROR) {
        fprintf(stderr, "%s: result code %d (NNFAST_VLOG=all tells why)\n", what, code);
        exit(1);
    }
}
#define MUST(call) must(call, #call)

/* -- a model under construction: every function adds operands and returns the index of the last ---------------------- */
static ANeuralNetworksModel *model;
static uint32_t operands;

static uint32_t tensor(uint32_t rank, const uint32_t *dims)
{
    const ANeuralNetworksOperandType type = {ANEURALNETWORKS_TENSOR_FLOAT32, rank, dims, 0, 0};
    MUST(ANeuralNetworksModel_addOperand(model, &type));
    return operands++;
}

static uint32_t picture(uint32_t side, uint32_t channels)
{
    return tensor(4, (const uint32_t[]){1, side, side, channels});
}

static uint32_t constant(uint32_t rank, const uint32_t *dims, const float *values)
{
    size_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= dims[i];
    uint32_t index = tensor(rank, dims);
    MUST(ANeuralNetworksModel_setOperandValue(model, (int32_t)index, values, count * sizeof *values));
    return index;
}

static uint32_t integer(int32_t value)
{
    const ANeuralNetworksOperandType type = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    MUST(ANeuralNetworksModel_addOperand(model, &type));
    MUST(ANeuralNetworksModel_setOperandValue(model, (int32_t)operands, &value, sizeof value));
    return operands++;
}

static uint32_t zeros(uint32_t count)
{
    float *values = calloc(count, sizeof *values);
    uint32_t index = constant(1, &count, values);
    free(values); /* constants are copied */
    return index;
}

static uint32_t operation(ANeuralNetworksOperationType type, uint32_t count, const uint32_t *inputs, uint32_t output)
{
    MUST(ANeuralNetworksModel_addOperation(model, type, count, inputs, 1, &output));
    return output;
}

/* The first layer: each of its channels is the mean of a place's surroundings. */
static uint32_t convolution(uint32_t input, uint32_t side)
{
    const uint32_t dims[] = {FIRST, 3, 3, 1};
    float weights[FIRST * 9];
    for (int i = 0; i < FIRST * 9; i++)
        weights[i] = 1.0f / 9;
    const uint32_t inputs[] = {input, constant(4, dims, weights), zeros(FIRST), integer(ANEURALNETWORKS_PADDING_SAME),
                               integer(2), integer(2), integer(ANEURALNETWORKS_FUSED_RELU6)};
    return operation(ANEURALNETWORKS_CONV_2D, 7, inputs, picture(side / 2, FIRST));
}

/* A block: each channel on its own, with half the resolution, then all channels of a place. */
static uint32_t block(uint32_t input, uint32_t side, uint32_t channels)
{
    const uint32_t own[] = {1, 3, 3, channels}, mixing[] = {2 * channels, 1, 1, channels};
    float *depthwise = calloc(9 * channels, sizeof *depthwise);
    float *pointwise = calloc(2 * channels * channels, sizeof *pointwise);
    for (uint32_t i = 0; i < channels; i++) {
        depthwise[4 * channels + i] = 1; /* the middle */
        pointwise[i * channels + i] = pointwise[(channels + i) * channels + i] = 1;
    }
    const uint32_t first[] = {input, constant(4, own, depthwise), zeros(channels),
                              integer(ANEURALNETWORKS_PADDING_SAME), integer(2), integer(2), integer(1),
                              integer(ANEURALNETWORKS_FUSED_RELU6)};
    uint32_t between = operation(ANEURALNETWORKS_DEPTHWISE_CONV_2D, 8, first, picture(side / 2, channels));
    const uint32_t second[] = {between, constant(4, mixing, pointwise), zeros(2 * channels),
                               integer(ANEURALNETWORKS_PADDING_SAME), integer(1), integer(1),
                               integer(ANEURALNETWORKS_FUSED_RELU6)};
    uint32_t output = operation(ANEURALNETWORKS_CONV_2D, 7, second, picture(side / 2, 2 * channels));
    free(depthwise);
    free(pointwise);
    return output;
}

/* The head: the columns of each half count for its class. */
static uint32_t head(uint32_t input, uint32_t side, uint32_t channels)
{
    const uint32_t count = side * side * channels, dims[] = {CLASSES, count};
    float *weights = calloc(CLASSES * count, sizeof *weights);
    for (uint32_t i = 0; i < count; i++)
        weights[i / channels % side < side / 2 ? i : count + i] = 1;
    const uint32_t dense[] = {input, constant(2, dims, weights), zeros(CLASSES), integer(ANEURALNETWORKS_FUSED_NONE)};
    free(weights);
    const uint32_t scores[] = {1, CLASSES};
    uint32_t raw = operation(ANEURALNETWORKS_FULLY_CONNECTED, 4, dense, tensor(2, scores));
    const ANeuralNetworksOperandType beta = {ANEURALNETWORKS_FLOAT32, 0, NULL, 0, 0};
    const float one = 1;
    MUST(ANeuralNetworksModel_addOperand(model, &beta));
    MUST(ANeuralNetworksModel_setOperandValue(model, (int32_t)operands, &one, sizeof one));
    const uint32_t softmax[] = {raw, operands++};
    return operation(ANEURALNETWORKS_SOFTMAX, 2, softmax, tensor(2, scores));
}

/* Memory that this program and the driver's process share. */
static ANeuralNetworksMemory *shared(size_t size, float **values)
{
    ANeuralNetworksMemory *memory;
    int fd = ASharedMemory_create("example", size);
    *values = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (*values == MAP_FAILED) {
        perror("shared memory");
        exit(1);
    }
    MUST(ANeuralNetworksMemory_createFromFd(size, PROT_READ | PROT_WRITE, fd, 0, &memory));
    close(fd);
    return memory;
}

int main(void)
{
    static const char *const names[CLASSES] = {"left", "right"};
    MUST(ANeuralNetworksModel_create(&model));
    uint32_t input = picture(SIDE, 1), last = convolution(input, SIDE), side = SIDE / 2, channels = FIRST;
    for (int i = 0; i < BLOCKS; i++, side /= 2, channels *= 2)
        last = block(last, side, channels);
    last = head(last, side, channels);
    MUST(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &last));
    MUST(ANeuralNetworksModel_finish(model));

    ANeuralNetworksDevice *device;
    const char *name;
    MUST(ANeuralNetworks_getDevice(0, &device));
    MUST(ANeuralNetworksDevice_getName(device, &name));
    const ANeuralNetworksDevice *list[] = {device};
    ANeuralNetworksCompilation *compilation;
    MUST(ANeuralNetworksCompilation_createForDevices(model, list, 1, &compilation));
    MUST(ANeuralNetworksCompilation_setPreference(compilation, ANEURALNETWORKS_PREFER_SUSTAINED_SPEED));
    MUST(ANeuralNetworksCompilation_finish(compilation));

    const size_t pixel_bytes = SIDE * SIDE * sizeof(float), score_bytes = CLASSES * sizeof(float);
    float *pixels, *scores;
    ANeuralNetworksMemory *from = shared(pixel_bytes, &pixels), *to = shared(score_bytes, &scores);
    ANeuralNetworksExecution *execution;
    ANeuralNetworksBurst *burst;
    MUST(ANeuralNetworksExecution_create(compilation, &execution));
    MUST(ANeuralNetworksExecution_setReusable(execution, true));
    MUST(ANeuralNetworksExecution_setMeasureTiming(execution, true));
    MUST(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, from, 0, pixel_bytes));
    MUST(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, to, 0, score_bytes));
    MUST(ANeuralNetworksBurst_create(compilation, &burst));

    uint64_t least = UINT64_MAX, duration;
    for (int run = 0; run < RUNS; run++) {
        int brighter = run % CLASSES;
        for (int i = 0; i < SIDE * SIDE; i++)
            pixels[i] = (i % SIDE >= SIDE / 2) == brighter ? 0.75f : 0.25f;
        MUST(ANeuralNetworksExecution_burstCompute(execution, burst));
        MUST(ANeuralNetworksExecution_getDuration(execution, ANEURALNETWORKS_DURATION_IN_DRIVER, &duration));
        least = duration < least ? duration : least;
        int found = scores[1] > scores[0];
        if (run < CLASSES)
            printf("%s: the %s half is brighter (%.3f)\n", name, names[found], scores[found]);
        if (found != brighter) {
            fprintf(stderr, "picture %d: must be %s\n", run, names[brighter]);
            return 1;
        }
    }
    fprintf(stderr, "%d pictures, at least %.0f us each in the driver\n", RUNS, (double)least / 1e3);

    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(from);
    ANeuralNetworksMemory_free(to);
    return 0;
}
