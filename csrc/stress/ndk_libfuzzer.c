/* Sequences of calls of the C library, under libFuzzer: a byte chooses a call, those after it its objects and numbers.
 *
 * Objects are freed in an order that the standard allows; otherwise they may be null, unfinished or used twice, and
 * numbers out of range or huge. A call must return one of its own codes, and create an object only where it succeeds; the
 * sanitizers see the rest, leaks included. The driver is real: NNFAST_SOCKET and NNFAST_DRIVER say where it is. */
#define _GNU_SOURCE
#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>
#include <android/hardware_buffer.h>
#include <android/sharedmem.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum kind { MODEL, COMPILATION, EXECUTION, MEMORY, DESC, BURST, EVENT, BUFFER, KINDS };
enum { SLOTS = 4, HELD = 24, ROOM = 1 << 16, RUNS = 10 };

/* held: objects that must outlive this one; users: how many it must outlive. */
struct object {
    void *it;
    int users, holds;
    struct object *held[HELD];
};

static struct object pool[KINDS][SLOTS];
static uint8_t room[ROOM]; /* where arguments and constants lie */
static char cache[] = "/tmp/nnfast-calls-XXXXXX";
static const uint8_t *at, *end;

static void must(bool holds, const char *what, int code)
{
    if (!holds) {
        fprintf(stderr, "%s: %d\n", what, code);
        abort();
    }
}

/* -- numbers ------------------------------------------------------------------------------------------------------- */
static uint8_t byte(void)
{
    return at < end ? *at++ : 0;
}

#define ONE_OF(table) ((table)[byte() % (sizeof(table) / sizeof *(table))])

static uint32_t small(void)
{
    static const uint32_t numbers[] = {0, 1, 2, 3, 4, 5, 8, 9, UINT32_MAX, 1u << 31, 70000, 6, 7, 1, 0, 2};
    return ONE_OF(numbers);
}

/* Of what begins in `room`: at most what is there, or more than any machine has. */
static size_t length(void)
{
    static const size_t sizes[] = {0, 1, 2, 4, 8, 8, 8, 8, 4, 12, 16, 64, 4096, ROOM, (size_t)1 << 40, SIZE_MAX};
    return ONE_OF(sizes);
}

static uint64_t duration(void)
{
    static const uint64_t times[] = {0, 1, 1000, 1000000000, UINT64_C(60000000000), UINT64_MAX};
    return ONE_OF(times);
}

static const uint32_t *indices(uint32_t *count)
{
    static uint32_t lists[][3] = {{0, 1, 2}, {3, 3, 3}, {2, 1, 0}, {0, 0, 0}, {4, 5, 6}, {UINT32_MAX, 1, 9}};
    uint8_t which = byte();
    *count = which >> 6;
    return which % 8 == 7 ? NULL : lists[which % 6];
}

static const ANeuralNetworksOperandType *type(void)
{
    static const uint32_t dims[][4] = {{2}, {0}, {1, 2, 2, 1}, {70000, 70000}, {2, 2}, {1, 0, 0, 1}, {UINT32_MAX, 9}};
    static const int32_t types[] = {
        ANEURALNETWORKS_TENSOR_FLOAT32, ANEURALNETWORKS_INT32, ANEURALNETWORKS_TENSOR_INT32, ANEURALNETWORKS_BOOL,
        ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, ANEURALNETWORKS_FLOAT16,
        ANEURALNETWORKS_TENSOR_BOOL8, ANEURALNETWORKS_MODEL, ANEURALNETWORKS_TENSOR_FLOAT16, 99, -1, 10001, 1 << 16,
        ANEURALNETWORKS_TENSOR_FLOAT32, ANEURALNETWORKS_TENSOR_FLOAT32};
    static const float scales[] = {0, 1, 0.5f, -1, 1e-38f, (float)0x1p127};
    static ANeuralNetworksOperandType made;
    uint8_t form = byte();
    if (form == 255)
        return NULL;
    made.type = ONE_OF(types);
    made.dimensionCount = form & 7;
    made.dimensionCount = made.dimensionCount > 4 ? 1 : made.dimensionCount;
    made.dimensions = form & 8 ? NULL : ONE_OF(dims);
    made.scale = form & 16 ? ONE_OF(scales) : 0;
    made.zeroPoint = form & 32 ? (int32_t)small() : 0;
    return &made;
}

/* -- objects ------------------------------------------------------------------------------------------------------- */
/* One that there is, if there is one and it is not to be null. */
static struct object *any(enum kind kind)
{
    static struct object none[KINDS];
    uint8_t which = byte();
    for (int i = 0; i < SLOTS && which < 248; i++)
        if (pool[kind][(which + i) % SLOTS].it)
            return &pool[kind][(which + i) % SLOTS];
    return &none[kind];
}

static struct object *empty(enum kind kind)
{
    for (int i = 0; i < SLOTS; i++)
        if (!pool[kind][i].it)
            return &pool[kind][i];
    return NULL;
}

/* False where no more can be kept: then the call is not made. */
static bool can_hold(const struct object *user)
{
    return user->holds < HELD;
}

static void hold(struct object *user, struct object *used)
{
    if (used->it) {
        user->held[user->holds++] = used;
        used->users++;
    }
}

static void release(enum kind kind, struct object *object)
{
    if (object->users || !object->it)
        return;
    switch (kind) {
    case MODEL: ANeuralNetworksModel_free(object->it); break;
    case COMPILATION: ANeuralNetworksCompilation_free(object->it); break;
    case EXECUTION: ANeuralNetworksExecution_free(object->it); break;
    case MEMORY: ANeuralNetworksMemory_free(object->it); break;
    case DESC: ANeuralNetworksMemoryDesc_free(object->it); break;
    case BURST: ANeuralNetworksBurst_free(object->it); break;
    case EVENT: ANeuralNetworksEvent_free(object->it); break;
    default: AHardwareBuffer_release(object->it);
    }
    while (object->holds)
        object->held[--object->holds]->users--;
    object->it = NULL;
}

/* Puts what a call created into a slot, or sees that it created nothing. */
static bool created(int code, void *it, struct object *slot)
{
    must((code == 0) == (it != NULL), "created, or a code", code);
    slot->it = it;
    return it != NULL;
}

/* A code of a call that asks no driver to do anything. */
static void is_settled(int code, const char *call)
{
    must(code == ANEURALNETWORKS_NO_ERROR || code == ANEURALNETWORKS_OUT_OF_MEMORY ||
             code == ANEURALNETWORKS_UNEXPECTED_NULL || code == ANEURALNETWORKS_BAD_DATA ||
             code == ANEURALNETWORKS_BAD_STATE || code == ANEURALNETWORKS_UNMAPPABLE, call, code);
}

static void has_run(int code, const char *call)
{
    must(code >= ANEURALNETWORKS_NO_ERROR && code <= ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT &&
             code != ANEURALNETWORKS_DEAD_OBJECT && code != ANEURALNETWORKS_UNAVAILABLE_DEVICE, call, code);
}

#define settled(call) is_settled(call, #call)
#define ran(call) has_run(call, #call)

/* -- calls --------------------------------------------------------------------------------------------------------- */
static const char *const extensions[] = {"com.example.fibonacci", "nnfast.test", "", NULL};

static void model_calls(void)
{
    struct object *model = any(MODEL), *other;
    uint32_t inputs, outputs;
    const uint32_t *in, *out;
    static const int32_t operations[] = {ANEURALNETWORKS_ADD, ANEURALNETWORKS_RELU, ANEURALNETWORKS_RESHAPE,
                                         ANEURALNETWORKS_IF, ANEURALNETWORKS_WHILE, ANEURALNETWORKS_PAD, 9999, -1,
                                         1 << 16, ANEURALNETWORKS_CONV_2D};
    static const float scales[4] = {1, 1, 0.5f, -1};
    switch (byte() % 14) {
    case 0:
        if ((model = empty(MODEL)) != NULL) {
            ANeuralNetworksModel *made = NULL;
            created(ANeuralNetworksModel_create(&made), made, model);
        }
        break;
    case 1: settled(ANeuralNetworksModel_addOperand(model->it, type())); break;
    case 2: {
        int32_t index = (int32_t)small();
        const void *value = byte() % 8 ? room : NULL;
        settled(ANeuralNetworksModel_setOperandValue(model->it, index, value, length()));
        break;
    }
    case 3:
        other = any(MEMORY);
        if (can_hold(model)) {
            int32_t index = (int32_t)small();
            size_t offset = length();
            int code = ANeuralNetworksModel_setOperandValueFromMemory(model->it, index, other->it, offset, length());
            settled(code);
            if (!code)
                hold(model, other);
        }
        break;
    case 4:
        other = any(MODEL);
        if (can_hold(model) && other != model) {
            int code = ANeuralNetworksModel_setOperandValueFromModel(model->it, (int32_t)small(), other->it);
            settled(code);
            if (!code)
                hold(model, other);
        }
        break;
    case 5: {
        ANeuralNetworksSymmPerChannelQuantParams quantization = {small(), small() % 5, scales};
        int32_t index = (int32_t)small();
        settled(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model->it, index,
                                                                        byte() % 8 ? &quantization : NULL));
        break;
    }
    case 6:
    case 7:
        in = indices(&inputs);
        out = indices(&outputs);
        settled(ANeuralNetworksModel_addOperation(model->it, ONE_OF(operations), inputs, in, outputs, out));
        break;
    case 8:
        in = indices(&inputs);
        out = indices(&outputs);
        settled(ANeuralNetworksModel_identifyInputsAndOutputs(model->it, inputs, in, outputs, out));
        break;
    case 9: settled(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model->it, byte() & 1)); break;
    case 10: settled(ANeuralNetworksModel_finish(model->it)); break;
    case 11: {
        const char *name = ONE_OF(extensions);
        int32_t code = 0;
        settled(ANeuralNetworksModel_getExtensionOperandType(model->it, name, (uint16_t)small(), &code));
        settled(ANeuralNetworksModel_getExtensionOperationType(model->it, name, (uint16_t)small(), &code));
        break;
    }
    case 12: {
        int32_t index = (int32_t)small();
        settled(ANeuralNetworksModel_setOperandExtensionData(model->it, index, byte() % 8 ? room : NULL, length()));
        break;
    }
    default: release(MODEL, model);
    }
}

/* Arguments of the model of `whole`. */
static void all_arguments(struct object *execution)
{
    static const uint32_t two[] = {2};
    static int32_t activation;
    ANeuralNetworksOperandType values = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, two, 0, 0};
    const ANeuralNetworksOperandType *shape = byte() & 1 ? &values : NULL;
    settled(ANeuralNetworksExecution_setInput(execution->it, 0, shape, room, 8));
    settled(ANeuralNetworksExecution_setInput(execution->it, 1, shape, room + 64, 8));
    settled(ANeuralNetworksExecution_setInput(execution->it, 2, NULL, &activation, 4));
    settled(ANeuralNetworksExecution_setOutput(execution->it, 0, shape, room + 128, 8));
}

static struct object *whole_model(void)
{
    static const uint32_t inputs[] = {0, 1, 2}, outputs[] = {3}, two[] = {2}, open[] = {0};
    ANeuralNetworksOperandType values = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, byte() & 1 ? open : two, 0, 0};
    ANeuralNetworksOperandType activation = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    struct object *slot = empty(MODEL);
    ANeuralNetworksModel *model = NULL;
    if (!slot || !created(ANeuralNetworksModel_create(&model), model, slot))
        return NULL;
    settled(ANeuralNetworksModel_addOperand(model, &values));
    settled(ANeuralNetworksModel_addOperand(model, &values));
    settled(ANeuralNetworksModel_addOperand(model, &activation));
    settled(ANeuralNetworksModel_addOperand(model, &values));
    settled(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs));
    settled(ANeuralNetworksModel_identifyInputsAndOutputs(model, 3, inputs, 1, outputs));
    settled(ANeuralNetworksModel_finish(model));
    return slot;
}

/* ADD of two numbers, or of any count of them, as far as a byte says: what few chance sequences would come to. Runs go
 * through rings after the first of them. */
static void whole(void)
{
    static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];
    uint8_t how_far = byte();
    struct object *model = whole_model(), *compilation = empty(COMPILATION), *execution = empty(EXECUTION);
    ANeuralNetworksCompilation *compiled = NULL;
    ANeuralNetworksExecution *made = NULL;
    if (!(how_far & 1) || !model || !compilation ||
        !created(ANeuralNetworksCompilation_create(model->it, &compiled), compiled, compilation))
        return;
    hold(compilation, model);
    if (how_far >> 5 == 7)
        settled(ANeuralNetworksCompilation_setCaching(compiled, cache, token));
    ran(ANeuralNetworksCompilation_finish(compiled));
    if (!(how_far & 2) || !execution ||
        !created(ANeuralNetworksExecution_create(compiled, &made), made, execution))
        return;
    hold(execution, compilation);
    settled(ANeuralNetworksExecution_setReusable(made, how_far & 4));
    all_arguments(execution);
    for (int i = 0; how_far & 8 && i < RUNS; i++)
        ran(ANeuralNetworksExecution_compute(made));
}

static void compilation_calls(void)
{
    struct object *compilation = any(COMPILATION), *model;
    ANeuralNetworksCompilation *made = NULL;
    ANeuralNetworksDevice *devices[2] = {NULL, NULL};
    uint32_t number = 0;
    int code;
    switch (byte() % 11) {
    case 0:
    case 1:
        model = any(MODEL);
        if ((compilation = empty(COMPILATION)) != NULL &&
            created(ANeuralNetworksCompilation_create(model->it, &made), made, compilation))
            hold(compilation, model);
        break;
    case 2: {
        bool supported[16] = {false};
        uint32_t count = byte() % 3;
        model = any(MODEL);
        settled(ANeuralNetworks_getDevice(byte() % 3, &devices[0]));
        settled(ANeuralNetworks_getDevice(byte() % 3, &devices[1]));
        const ANeuralNetworksDevice *const *list = (const ANeuralNetworksDevice *const *)devices;
        if ((compilation = empty(COMPILATION)) != NULL &&
            created(ANeuralNetworksCompilation_createForDevices(model->it, list, count, &made), made, compilation)) {
            hold(compilation, model);
            ran(ANeuralNetworksModel_getSupportedOperationsForDevices(model->it, list, count, supported));
        }
        break;
    }
    case 3: settled(ANeuralNetworksCompilation_setPreference(compilation->it, (int32_t)small())); break;
    case 4: settled(ANeuralNetworksCompilation_setPriority(compilation->it, (int)(10 * small()))); break;
    case 5: settled(ANeuralNetworksCompilation_setTimeout(compilation->it, duration())); break;
    case 6:
        settled(ANeuralNetworksCompilation_addExtensionAttribute(
            compilation->it, ONE_OF(extensions), (uint16_t)small(), room, length() % ROOM));
        break;
    case 7:
        code = ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(compilation->it, small(), &number);
        settled(code);
        must(code || (number && !(number & (number - 1))), "an alignment", (int)number);
        settled(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(compilation->it, small(), &number));
        break;
    case 8: ran(ANeuralNetworksCompilation_finish(compilation->it)); break;
    case 9:
        settled(ANeuralNetworksCompilation_setCaching(compilation->it, byte() & 1 ? cache : "/dev/null", room));
        break;
    default: release(COMPILATION, compilation);
    }
}

static void argument_calls(struct object *execution)
{
    struct object *memory = any(MEMORY);
    int32_t index = (int32_t)small();
    const ANeuralNetworksOperandType *shape = byte() % 4 ? NULL : type();
    void *value = byte() % 16 ? room + 64 * (byte() % 8) : NULL;
    uint8_t which = byte();
    size_t offset = which & 4 ? length() : 0, size = length();
    size = size == ROOM ? ROOM / 2 : size;
    int code;
    switch (which & 3) {
    case 0: settled(ANeuralNetworksExecution_setInput(execution->it, index, shape, value, size)); break;
    case 1: settled(ANeuralNetworksExecution_setOutput(execution->it, index, shape, value, size)); break;
    default:
        if (!can_hold(execution))
            return;
        code = (which & 1 ? ANeuralNetworksExecution_setInputFromMemory : ANeuralNetworksExecution_setOutputFromMemory)(
            execution->it, index, shape, memory->it, offset, size);
        settled(code);
        if (!code)
            hold(execution, memory);
    }
}

static void start(struct object *execution, bool is_fenced)
{
    struct object *slot = empty(EVENT), *before[2] = {any(EVENT), any(EVENT)};
    const ANeuralNetworksEvent *list[2] = {before[0]->it, before[1]->it};
    ANeuralNetworksEvent *event = NULL;
    if (!slot)
        return;
    int code = is_fenced ? ANeuralNetworksExecution_startComputeWithDependencies(execution->it, list, byte() % 3,
                                                                                duration(), &event)
                         : ANeuralNetworksExecution_startCompute(execution->it, &event);
    ran(code);
    if (created(code, event, slot))
        hold(slot, execution);
}

static void execution_calls(void)
{
    struct object *execution = any(EXECUTION), *compilation, *burst;
    ANeuralNetworksExecution *made = NULL;
    uint32_t numbers[4] = {0};
    uint64_t time = 0;
    switch (byte() % 14) {
    case 0:
        compilation = any(COMPILATION);
        if ((execution = empty(EXECUTION)) != NULL &&
            created(ANeuralNetworksExecution_create(compilation->it, &made), made, execution))
            hold(execution, compilation);
        break;
    case 1:
    case 2: argument_calls(execution); break;
    case 3: all_arguments(execution); break;
    case 4: settled(ANeuralNetworksExecution_setReusable(execution->it, byte() & 1)); break;
    case 5: settled(ANeuralNetworksExecution_enableInputAndOutputPadding(execution->it, byte() & 1)); break;
    case 6:
        settled(ANeuralNetworksExecution_setMeasureTiming(execution->it, byte() & 1));
        settled(ANeuralNetworksExecution_setTimeout(execution->it, duration()));
        settled(ANeuralNetworksExecution_setLoopTimeout(execution->it, duration()));
        break;
    case 7: ran(ANeuralNetworksExecution_compute(execution->it)); break;
    case 8: start(execution, false); break;
    case 9: start(execution, true); break;
    case 10:
        burst = any(BURST);
        ran(ANeuralNetworksExecution_burstCompute(execution->it, burst->it));
        break;
    case 11:
        ran(ANeuralNetworksExecution_getOutputOperandRank(execution->it, (int32_t)small(), numbers));
        must(numbers[0] <= 4, "a rank", (int)numbers[0]);
        ran(ANeuralNetworksExecution_getOutputOperandDimensions(execution->it, (int32_t)small(), numbers));
        break;
    case 12: settled(ANeuralNetworksExecution_getDuration(execution->it, (int32_t)small(), &time)); break;
    default: release(EXECUTION, execution);
    }
}

static void memory_calls(void)
{
    struct object *memory = any(MEMORY), *desc = any(DESC), *other = any(MEMORY), *compilation = any(COMPILATION);
    ANeuralNetworksMemory *made = NULL;
    ANeuralNetworksMemoryDesc *described = NULL;
    uint32_t dims[4] = {small(), small(), 1, 1};
    int code, fd;
    switch (byte() % 9) {
    case 0:
        if ((memory = empty(MEMORY)) != NULL) {
            fd = byte() % 8 ? ASharedMemory_create("fuzz", byte() & 1 ? 64 : 8192) : -1;
            int protect = byte() % 8 ? PROT_READ | PROT_WRITE : (int)small();
            size_t size = length(), offset = byte() % 4 ? 0 : length();
            code = ANeuralNetworksMemory_createFromFd(size, protect, fd, offset, &made);
            created(code, made, memory);
            if (fd >= 0)
                close(fd);
        }
        break;
    case 1: {
        AHardwareBuffer_Desc form = {.width = small(), .height = byte() % 8 ? 1 : small(), .layers = 1,
                                     .format = byte() % 8 ? AHARDWAREBUFFER_FORMAT_BLOB : small(),
                                     .usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN |
                                              AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN};
        struct object *buffer = empty(BUFFER);
        AHardwareBuffer *allocated = NULL;
        if (buffer && form.width <= 70000 && !AHardwareBuffer_allocate(&form, &allocated))
            buffer->it = allocated;
        break;
    }
    case 2: {
        struct object *buffer = any(BUFFER);
        if ((memory = empty(MEMORY)) != NULL) {
            code = ANeuralNetworksMemory_createFromAHardwareBuffer(buffer->it, &made);
            if (created(code, made, memory))
                hold(memory, buffer);
        }
        break;
    }
    case 3:
        if ((desc = empty(DESC)) != NULL)
            created(ANeuralNetworksMemoryDesc_create(&described), described, desc);
        break;
    case 4:
        if (can_hold(desc)) {
            static const float frequencies[] = {1, 0.5f, 0, 1.5f, -1};
            uint32_t index = small();
            code = (byte() & 1 ? ANeuralNetworksMemoryDesc_addInputRole : ANeuralNetworksMemoryDesc_addOutputRole)(
                desc->it, compilation->it, index, ONE_OF(frequencies));
            settled(code);
            if (!code)
                hold(desc, compilation);
        }
        break;
    case 5:
        settled(ANeuralNetworksMemoryDesc_setDimensions(desc->it, byte() % 4, dims));
        settled(ANeuralNetworksMemoryDesc_finish(desc->it));
        break;
    case 6:
        if ((memory = empty(MEMORY)) != NULL) {
            code = ANeuralNetworksMemory_createFromDesc(desc->it, &made);
            ran(code);
            if (created(code, made, memory))
                for (int i = 0; i < desc->holds; i++)
                    hold(memory, desc->held[i]);
        }
        break;
    case 7: ran(ANeuralNetworksMemory_copy(memory->it, other->it)); break;
    default:
        if (byte() & 1)
            release(MEMORY, memory);
        else
            release(DESC, desc);
    }
}

static void device_calls(void)
{
    ANeuralNetworksDevice *device = NULL;
    const char *text = NULL;
    int32_t kind;
    int64_t level;
    bool is_there;
    settled(ANeuralNetworks_getDevice(byte() % 3, &device));
    settled(ANeuralNetworksDevice_getName(device, &text));
    settled(ANeuralNetworksDevice_getType(device, &kind));
    settled(ANeuralNetworksDevice_getFeatureLevel(device, &level));
    settled(ANeuralNetworksDevice_getVersion(device, &text));
    settled(ANeuralNetworksDevice_wait(device));
    settled(ANeuralNetworksDevice_getExtensionSupport(device, ONE_OF(extensions), &is_there));
}

static void buffer_calls(void)
{
    struct object *buffer = any(BUFFER);
    uint64_t usage = byte() & 1 ? AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN : AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN;
    AHardwareBuffer_Desc form;
    void *bytes = NULL;
    if (!buffer->it)
        return;
    AHardwareBuffer_acquire(buffer->it);
    AHardwareBuffer_describe(buffer->it, &form);
    if (!AHardwareBuffer_lock(buffer->it, usage, -1, NULL, &bytes)) {
        memset(bytes, byte(), form.width);
        must(!AHardwareBuffer_unlock(buffer->it, NULL), "unlock", -1);
    }
    AHardwareBuffer_release(buffer->it);
    release(BUFFER, buffer);
}

static void event_calls(void)
{
    struct object *event = any(EVENT), *burst = any(BURST), *compilation = any(COMPILATION);
    ANeuralNetworksBurst *made = NULL;
    ANeuralNetworksEvent *fenced = NULL;
    int fd = -1, code;
    switch (byte() % 7) {
    case 0:
        if ((burst = empty(BURST)) != NULL) {
            code = ANeuralNetworksBurst_create(compilation->it, &made);
            ran(code);
            if (created(code, made, burst))
                hold(burst, compilation);
        }
        break;
    case 1: release(BURST, burst); break;
    case 2: ran(ANeuralNetworksEvent_wait(event->it)); break;
    case 3:
        code = ANeuralNetworksEvent_getSyncFenceFd(event->it, &fd);
        settled(code);
        must(code ? fd == -1 : fd >= 0, "a fence", fd);
        if (byte() % 4 == 0 && fd >= 0) {
            close(fd);
            fd = -1;
        }
        if ((event = empty(EVENT)) != NULL) {
            code = ANeuralNetworksEvent_createFromSyncFenceFd(fd, &fenced);
            created(code, fenced, event);
        }
        if (fd >= 0)
            close(fd);
        break;
    case 4: buffer_calls(); break;
    case 5: device_calls(); break;
    default: release(EVENT, event);
    }
}

/* The directory that caches are put into is made once, and left empty. */
static void remove_cache(void)
{
    DIR *folder = opendir(cache);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(cache);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    must(mkdtemp(cache) != NULL, cache, -1);
    atexit(remove_cache);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    at = data;
    end = data + size;
    memset(room, 0, sizeof room);
    while (at < end)
        switch (byte() % 8) {
        case 0:
        case 1: model_calls(); break;
        case 2: whole(); break;
        case 3: compilation_calls(); break;
        case 4:
        case 5: execution_calls(); break;
        case 6: memory_calls(); break;
        default: event_calls();
        }
    static const enum kind order[] = {EVENT, EXECUTION, BURST, MEMORY, DESC, COMPILATION, MODEL, MODEL, MODEL, MODEL,
                                      MEMORY, BUFFER};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (int i = 0; i < SLOTS; i++)
            release(order[k], &pool[order[k]][i]);
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < SLOTS; i++)
            must(!pool[kind][i].it, "is still used", kind);
    return 0;
}
