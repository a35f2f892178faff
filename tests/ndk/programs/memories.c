#include "cases.h"

static void from_fd(void)
{
    Memory *memory = NULL;
    int fd = ASharedMemory_create(NULL, 8);
    TRUE_(fd > 0);
    IS(ANeuralNetworksMemory_createFromFd(8, PROT_READ, fd, 0, NULL), N);
    memory = (Memory *)1;
    IS(ANeuralNetworksMemory_createFromFd(8, PROT_READ, -1, 0, &memory), F);
    TRUE_(!memory);
    IS(ANeuralNetworksMemory_createFromFd(8, PROT_READ, 100000, 0, &memory), F);
    IS(ANeuralNetworksMemory_createFromFd(8, PROT_READ, fd, 0, &memory), OK);
    close(fd);
    ANeuralNetworksMemory_free(memory);
    ANeuralNetworksMemory_free(NULL);
}

static void shared_memory(void)
{
    IS(ASharedMemory_create("none", 0), -1);
    int fd = ASharedMemory_create("some", 4096);
    IS(lseek(fd, 0, SEEK_END), 4096);
    IS(ftruncate(fd, 1), -1);
    close(fd);
}

static void hardware_buffers(void)
{
    enum { USAGE = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN };
    AHardwareBuffer *buffer = blob(20, USAGE | AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER);
    AHardwareBuffer_Desc desc = {.width = 20, .height = 2, .layers = 1, .format = AHARDWAREBUFFER_FORMAT_BLOB};
    AHardwareBuffer *other = NULL;
    Memory *memory = NULL;
    void *bytes = NULL, *again = NULL;
    int32_t fence = 0;
    IS(sizeof desc, 40);
    TRUE_(AHardwareBuffer_allocate(&desc, &other) < 0 && !other);
    IS(AHardwareBuffer_lock(buffer, USAGE, -1, NULL, &bytes), 0);
    IS(AHardwareBuffer_lock(buffer, USAGE, -1, NULL, &again), 0);
    TRUE_(bytes && bytes == again);
    TRUE_(AHardwareBuffer_lock(buffer, 0, -1, NULL, &again) < 0);
    IS(AHardwareBuffer_unlock(buffer, &fence), 0);
    IS(fence, -1);
    IS(AHardwareBuffer_unlock(buffer, NULL), 0);
    AHardwareBuffer_describe(buffer, &desc);
    IS(desc.width, 20);
    IS(desc.height, 1);
    AHardwareBuffer_acquire(buffer);
    AHardwareBuffer_release(buffer);
    IS(ANeuralNetworksMemory_createFromAHardwareBuffer(NULL, &memory), N);
    IS(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, NULL), N);
    IS(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &memory), OK);
    ANeuralNetworksMemory_free(memory);
    AHardwareBuffer_release(buffer);
}

static void pictures_are_no_constants(void)
{
    AHardwareBuffer_Desc desc = {.width = 16, .height = 16, .layers = 1,
                                 .format = AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM,
                                 .usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN};
    AHardwareBuffer *buffer = NULL;
    Memory *memory = NULL;
    Model *model = new_model();
    IS(AHardwareBuffer_allocate(&desc, &buffer), 0);
    IS(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &memory), OK);
    add(model, FLOAT2);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory, 0, 8), D);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(memory);
    AHardwareBuffer_release(buffer);
}

/* z = x + c with c = {10, 20} at byte 20 of a file that is only read. */
static void constants_in_a_file(void)
{
    char path[] = "/tmp/nnfast-test-XXXXXX";
    static const float values[] = {10, 20}, x[] = {1, 2};
    static const uint32_t inputs[] = {0, 1, 2}, outputs[] = {3};
    float z[2] = {0};
    int32_t none = 0;
    Memory *memory;
    int fd = mkstemp(path);
    unlink(path);
    IS(pwrite(fd, values, sizeof values, 20), 8);
    IS(ANeuralNetworksMemory_createFromFd(28, PROT_READ, fd, 0, &memory), OK);
    Model *model = new_model();
    add(model, FLOAT2);
    add(model, FLOAT2);
    add(model, INT);
    add(model, FLOAT2);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, memory, 20, 8), OK);
    IS(ANeuralNetworksModel_setOperandValue(model, 2, &none, 4), OK);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, outputs), OK);
    Compilation *compilation = compiled(finished(model));
    Execution *execution = new_execution(compilation);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, 8), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, 8), OK);
    IS(ANeuralNetworksExecution_compute(execution), OK);
    TRUE_(z[0] == 11 && z[1] == 22);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(memory);
    close(fd);
}

/* z = (x + c) + d for [3, 4] constants at bytes 20 and 200 of a BLOB. */
static void constants_in_a_blob(void)
{
    enum { COUNT = 12, USAGE = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN };
    static const uint32_t dims[] = {3, 4}, first[] = {0, 1, 3}, then[] = {4, 2, 3}, in[] = {0}, middle[] = {4}, out[] = {5};
    Type type = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, dims, 0, 0};
    AHardwareBuffer *buffer = blob(300, USAGE);
    float x[COUNT], z[COUNT];
    int32_t none = 0;
    void *bytes;
    Memory *memory;
    IS(AHardwareBuffer_lock(buffer, USAGE, -1, NULL, &bytes), 0);
    for (int i = 0; i < COUNT; i++) {
        float c = (float)(10 * i), d = 1000;
        x[i] = (float)i;
        memcpy((char *)bytes + 20 + 4 * i, &c, 4);
        memcpy((char *)bytes + 200 + 4 * i, &d, 4);
    }
    IS(AHardwareBuffer_unlock(buffer, NULL), 0);
    IS(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &memory), OK);
    Model *model = new_model();
    for (int i = 0; i < 6; i++)
        add(model, i == 3 ? INT : type);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, memory, 20, sizeof x), OK);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, 2, memory, 200, sizeof x), OK);
    IS(ANeuralNetworksModel_setOperandValue(model, 3, &none, 4), OK);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, first, 1, middle), OK);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, then, 1, out), OK);
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, in, 1, out), OK);
    Compilation *compilation = compiled(finished(model));
    Execution *execution = new_execution(compilation);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof x), OK);
    IS(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof z), OK);
    IS(ANeuralNetworksExecution_compute(execution), OK);
    for (int i = 0; i < COUNT; i++)
        TRUE_(z[i] == (float)(11 * i + 1000));
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(memory);
    AHardwareBuffer_release(buffer);
}

static void constants_beyond_the_end_of_a_file(void)
{
    static const uint32_t inputs[] = {0, 1, 2}, outputs[] = {3};
    char path[] = "/tmp/nnfast-test-XXXXXX";
    Memory *memory;
    int fd = mkstemp(path);
    unlink(path);
    IS(ANeuralNetworksMemory_createFromFd(28, PROT_READ, fd, 0, &memory), OK);
    Model *model = new_model();
    add(model, FLOAT2);
    add(model, FLOAT2);
    add(model, INT);
    add(model, FLOAT2);
    IS(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, memory, 20, 8), OK);
    IS(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs), OK);
    static const uint32_t given[] = {0, 2};
    IS(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, given, 1, outputs), OK);
    IS(ANeuralNetworksModel_finish(model), D);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(memory);
    close(fd);
}

/* Memories of every kind as arguments: their contents are those at the run, not those when they were set. */
static void arguments(void)
{
    Model *model = plain_add();
    Compilation *compilation = compiled(model);
    AHardwareBuffer *buffer = blob(64, AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN);
    char path[] = "/tmp/nnfast-test-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    IS(ftruncate(fd, 5000), 0);
    Memory *x, *y, *z;
    void *bytes, *blob_bytes;
    IS(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &x), OK);
    y = shared(64, &bytes);
    IS(ANeuralNetworksMemory_createFromFd(900, PROT_READ | PROT_WRITE, fd, 4100, &z), OK); /* offset within a page */
    for (int round = 1; round <= 2; round++) {
        Execution *execution = new_execution(compilation);
        int32_t none = 0;
        float result[2] = {0};
        IS(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, x, 20, 8), OK);
        IS(ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, y, 4, 8), OK);
        IS(ANeuralNetworksExecution_setInput(execution, 2, NULL, &none, 4), OK);
        IS(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, z, 36, 8), OK);
        IS(AHardwareBuffer_lock(buffer, AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN, -1, NULL, &blob_bytes), 0);
        memcpy((char *)blob_bytes + 20, ((float[]){1 * round, 2 * round}), 8);
        IS(AHardwareBuffer_unlock(buffer, NULL), 0);
        memcpy((char *)bytes + 4, ((float[]){10 * round, 20 * round}), 8);
        IS(ANeuralNetworksExecution_compute(execution), OK);
        IS(pread(fd, result, 8, 4136), 8);
        TRUE_(result[0] == 11 * round && result[1] == 22 * round);
        ANeuralNetworksExecution_free(execution);
    }
    munmap(bytes, 64);
    close(fd);
    ANeuralNetworksMemory_free(x);
    ANeuralNetworksMemory_free(y);
    ANeuralNetworksMemory_free(z);
    AHardwareBuffer_release(buffer);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void read_only_memory_as_output(void)
{
    Model *model = plain_add();
    Compilation *compilation = compiled(model);
    Execution *execution = new_execution(compilation);
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    Memory *memory;
    int fd = ASharedMemory_create(NULL, 8);
    IS(ANeuralNetworksMemory_createFromFd(8, PROT_READ, fd, 0, &memory), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, sums.x, 8), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 1, NULL, sums.y, 8), OK);
    IS(ANeuralNetworksExecution_setInput(execution, 2, NULL, &sums.activation, 4), OK);
    IS(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 0, 8), OK);
    IS(ANeuralNetworksExecution_compute(execution), F);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksMemory_free(memory);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    close(fd);
}

static const struct test tests[] = {
    {"from_fd", from_fd}, {"shared_memory", shared_memory}, {"hardware_buffers", hardware_buffers},
    {"pictures_are_no_constants", pictures_are_no_constants}, {"constants_in_a_file", constants_in_a_file},
    {"constants_in_a_blob", constants_in_a_blob},
    {"constants_beyond_the_end_of_a_file", constants_beyond_the_end_of_a_file}, {"arguments", arguments},
    {"read_only_memory_as_output", read_only_memory_as_output},
};
MAIN(tests)
