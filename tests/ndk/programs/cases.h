/* Cases of the C library's tests: a call and the code that it must return, as the standard's own tests list them.
 *
 * A program runs the tests that are named on its command line, and prints every case that is not so. */
#ifndef CASES_H
#define CASES_H

#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>
#include <android/sharedmem.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    OK = ANEURALNETWORKS_NO_ERROR,
    N = ANEURALNETWORKS_UNEXPECTED_NULL,
    D = ANEURALNETWORKS_BAD_DATA,
    S = ANEURALNETWORKS_BAD_STATE,
    F = ANEURALNETWORKS_OP_FAILED,
    SIZE = ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE,
};

typedef ANeuralNetworksModel Model;
typedef ANeuralNetworksCompilation Compilation;
typedef ANeuralNetworksExecution Execution;
typedef ANeuralNetworksMemory Memory;
typedef ANeuralNetworksEvent Event;
typedef ANeuralNetworksBurst Burst;
typedef ANeuralNetworksDevice Device;
typedef ANeuralNetworksOperandType Type;

static int wrong;

#define IS(call, expected) is(__FILE__, __LINE__, #call, (long long)(call), (long long)(expected))
#define TRUE_(what) is(__FILE__, __LINE__, #what, !!(what), 1)

static inline void is(const char *file, int line, const char *call, long long found, long long expected)
{
    if (found != expected) {
        printf("%s:%d: %s is %lld, must be %lld\n", file, line, call, found, expected);
        wrong++;
    }
}

struct test {
    const char *name;
    void (*run)(void);
};

static inline int run_tests(const struct test *tests, size_t count, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < count && strcmp(tests[k].name, argv[i]))
            k++;
        if (k == count) {
            printf("there is no test %s\n", argv[i]);
            return 2;
        }
        tests[k].run();
    }
    return wrong ? 1 : 0;
}

#define MAIN(tests)                                                                                                    \
    int main(int argc, char **argv)                                                                                    \
    {                                                                                                                  \
        return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);                                             \
    }

/* -- types ----------------------------------------------------------------------------------------------------------- */
static const uint32_t TWO[] = {2}, ONE[] = {1}, OPEN[] = {0}, FIVE[] = {5};

#define FLOAT_OF(dims) ((Type){ANEURALNETWORKS_TENSOR_FLOAT32, sizeof dims / sizeof *dims, dims, 0, 0})
static const Type FLOAT2 = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, TWO, 0, 0};
static const Type INT = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
static const Type NO_DIMS = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, NULL, 0, 0};
static const Type NO_COUNT = {ANEURALNETWORKS_TENSOR_FLOAT32, 0, TWO, 0, 0};
/* About 2^60 bytes: 0 if it is counted in 32 bits. */
static const uint32_t HUGE_DIMS[] = {5, 4, 4, 786433, 5, 3, 16777216, 4, 5};
static const Type HUGE_TYPE = {ANEURALNETWORKS_TENSOR_FLOAT32, 9, HUGE_DIMS, 0, 0};

/* -- models ---------------------------------------------------------------------------------------------------------- */
static inline Model *new_model(void)
{
    Model *model;
    IS(ANeuralNetworksModel_create(&model), OK);
    return model;
}

static inline void add(Model *model, Type type)
{
    IS(ANeuralNetworksModel_addOperand(model, &type), OK);
}

/* z = x + y of these types, with the activation as an input: operands 0, 1, 2 -> 3. */
static inline Model *add_model(Type x, Type y, Type z)
{
    static const uint32_t inputs[] = {0, 1, 2}, outputs[] = {3};
    Model *model = new_model();
    add(model, x);
    add(model, y);
    add(model, INT);
    add(model, z);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 3, inputs, 1, outputs), OK);
    return model;
}

static inline Model *finished(Model *model)
{
    IS(ANeuralNetworksModel_finish(model), OK);
    return model;
}

static inline Model *plain_add(void)
{
    return finished(add_model(FLOAT2, FLOAT2, FLOAT2));
}

static inline Compilation *compiled(Model *model)
{
    Compilation *compilation;
    IS(ANeuralNetworksCompilation_create(model, &compilation), OK);
    IS(ANeuralNetworksCompilation_finish(compilation), OK);
    return compilation;
}

static inline const Device *device(uint32_t index)
{
    Device *found;
    IS(ANeuralNetworks_getDevice(index, &found), OK);
    return found;
}

static inline Compilation *compiled_for_one(Model *model)
{
    const Device *one = device(0);
    Compilation *compilation;
    IS(ANeuralNetworksCompilation_createForDevices(model, &one, 1, &compilation), OK);
    IS(ANeuralNetworksCompilation_finish(compilation), OK);
    return compilation;
}

static inline Execution *new_execution(Compilation *compilation)
{
    Execution *execution;
    IS(ANeuralNetworksExecution_create(compilation, &execution), OK);
    return execution;
}

/* Arguments of an execution of add_model; they must live until it ends. */
struct sums {
    float x[2], y[2], z[2];
    int32_t activation;
};

static inline void give(Execution *execution, struct sums *sums)
{
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, sums->x, sizeof sums->x), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 1, NULL, sums->y, sizeof sums->y), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 2, NULL, &sums->activation, 4), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sums->z, sizeof sums->z), OK);
}

static inline Memory *shared(size_t size, void **bytes)
{
    Memory *memory;
    int fd = ASharedMemory_create("test", size);
    TRUE_(fd > 0);
    if (bytes)
        *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    IS(ANeuralNetworksMemory_createFromFd(size, PROT_READ | PROT_WRITE, fd, 0, &memory), OK);
    close(fd);
    return memory;
}

static inline AHardwareBuffer *blob(uint32_t size, uint64_t usage)
{
    AHardwareBuffer_Desc desc = {.width = size, .height = 1, .layers = 1, .format = AHARDWAREBUFFER_FORMAT_BLOB,
                                 .usage = usage};
    AHardwareBuffer *buffer = NULL;
    IS(AHardwareBuffer_allocate(&desc, &buffer), 0);
    return buffer;
}

/* The memory of a BLOB, which nothing else refers to. */
static inline Memory *blob_memory(uint32_t size)
{
    AHardwareBuffer *buffer =
        blob(size, AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN);
    Memory *memory = NULL;
    IS(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &memory), OK);
    AHardwareBuffer_release(buffer);
    return memory;
}

/* Every way to compute; returns what the run came to, wherever it is told. */
enum way { COMPUTE, START, BURST, FENCED, WAYS };

static inline int compute_by(enum way way, Execution *execution, Compilation *compilation)
{
    Event *event = NULL;
    Burst *burst = NULL;
    int code;
    switch (way) {
    case COMPUTE: return ANeuralNetworksExecution_compute(execution);
    case BURST:
        IS(ANeuralNetworksBurst_create(compilation, &burst), OK);
        code = ANeuralNetworksExecution_burstCompute(execution, burst);
        ANeuralNetworksBurst_free(burst);
        return code;
    case START: code = ANeuralNetworksExecution_startCompute(execution, &event); break;
    default: code = ANeuralNetworksExecution_startComputeWithDependencies(execution, NULL, 0, 0, &event); break;
    }
    TRUE_((code == OK) == (event != NULL));
    if (!code)
        code = ANeuralNetworksEvent_wait(event);
    ANeuralNetworksEvent_free(event);
    return code;
}

#endif
