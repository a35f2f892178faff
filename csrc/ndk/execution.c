/* Executions: arguments, settings and what comes of a run. */
#define _GNU_SOURCE
#include "execution.h"

#include <stdlib.h>
#include <string.h>

int ANeuralNetworksExecution_create(ANeuralNetworksCompilation *compilation, ANeuralNetworksExecution **execution)
{
    if (!compilation || !execution)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *execution = NULL;
    if (compilation->state != NDK_READY)
        return ANEURALNETWORKS_BAD_STATE;
    const ANeuralNetworksModel *model = compilation->model;
    ANeuralNetworksExecution *made = calloc(1, sizeof *made);
    if (!made)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    pthread_mutex_init(&made->lock, NULL);
    made->compilation = compilation;
    made->inputs = calloc(model->input_count + (size_t)1, sizeof *made->inputs);
    made->outputs = calloc(model->output_count + (size_t)1, sizeof *made->outputs);
    made->results = calloc(model->output_count + (size_t)1, sizeof *made->results);
    made->on_device = made->in_driver = UINT64_MAX;
    if (!made->inputs || !made->outputs || !made->results) {
        ANeuralNetworksExecution_free(made);
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    }
    *execution = made;
    return ANEURALNETWORKS_NO_ERROR;
}

static enum ndk_phase phase_of(const ANeuralNetworksExecution *execution)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&execution->lock;
    pthread_mutex_lock(lock);
    enum ndk_phase phase = execution->phase;
    pthread_mutex_unlock(lock);
    return phase;
}

void ANeuralNetworksExecution_free(ANeuralNetworksExecution *execution)
{
    /* One that runs is left alone: its thread and its event still need it. */
    if (!execution || phase_of(execution) == NDK_COMPUTATION)
        return;
    for (uint32_t i = 0; execution->inputs && i < execution->compilation->model->input_count; i++)
        free(execution->inputs[i].dims);
    for (uint32_t i = 0; execution->outputs && i < execution->compilation->model->output_count; i++)
        free(execution->outputs[i].dims);
    for (uint32_t i = 0; execution->results && i < execution->compilation->model->output_count; i++)
        free(execution->results[i].dims);
    free(execution->inputs);
    free(execution->outputs);
    free(execution->results);
    ndk_free_attributes(&execution->attributes);
    pthread_mutex_destroy(&execution->lock);
    free(execution);
}

/* -- arguments ------------------------------------------------------------------------------------------------------- */
/* What is asked of an argument. */
struct slot {
    ANeuralNetworksExecution *execution;
    bool is_input;
    uint32_t index;
    struct ndk_argument *argument;
    const struct ndk_operand *operand;
};

static int find(ANeuralNetworksExecution *execution, bool is_input, int32_t index, struct slot *slot)
{
    const ANeuralNetworksModel *model = execution->compilation->model;
    if (phase_of(execution) != NDK_PREPARATION)
        return ANEURALNETWORKS_BAD_STATE;
    if ((uint32_t)index >= (is_input ? model->input_count : model->output_count))
        return ANEURALNETWORKS_BAD_DATA;
    *slot = (struct slot){execution, is_input, (uint32_t)index, is_input ? &execution->inputs[index] : &execution->outputs[index],
                          &model->operands[is_input ? model->inputs[index] : model->outputs[index]]};
    return ANEURALNETWORKS_NO_ERROR;
}

/* Combines the type that was given (or NULL) with the model's. is_open: extents may stay unknown. Writes
 * dims (the caller's to free), rank and size. */
static int combine(const struct slot *slot, const ANeuralNetworksOperandType *type, bool is_open,
                   struct ndk_argument *found)
{
    const struct ndk_operand *operand = slot->operand;
    size_t element;
    bool is_tensor;
    int code = type ? ndk_check_type(type) : ANEURALNETWORKS_NO_ERROR;
    if (!code)
        code = ndk_type(operand->type, &element, &is_tensor);
    if (code)
        return code;
    uint32_t rank = type ? type->dimensionCount : operand->rank;
    const uint32_t *dims = type ? type->dimensions : operand->dims;
    if (type && ((operand->rank && rank != operand->rank) || (!is_tensor && rank)))
        return ANEURALNETWORKS_BAD_DATA;
    if (!is_open && is_tensor && !rank)
        return ANEURALNETWORKS_BAD_DATA;
    for (uint32_t i = 0; i < rank; i++) {
        if (!is_open && !dims[i])
            return ANEURALNETWORKS_BAD_DATA;
        if (operand->rank && operand->dims[i] && operand->dims[i] != dims[i])
            return ANEURALNETWORKS_BAD_DATA;
    }
    uint64_t size = ndk_bytes(operand->type, rank, dims);
    if (size == UINT64_MAX)
        return ANEURALNETWORKS_BAD_DATA;
    found->size = (size_t)size;
    found->rank = rank;
    found->has_dims = type && rank;
    found->dims = rank ? malloc(rank * sizeof *dims) : NULL;
    if (rank && !found->dims)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    if (rank)
        memcpy(found->dims, dims, rank * sizeof *dims);
    return ANEURALNETWORKS_NO_ERROR;
}

/* Whether a place of this length holds the value. OEM types take any. */
static int check_length(struct slot *slot, const struct ndk_argument *found, size_t length)
{
    slot->execution->has_lengths = true;
    if (!found->size)
        return ANEURALNETWORKS_NO_ERROR;
    return length == found->size || (length > found->size && slot->execution->has_padding) ? ANEURALNETWORKS_NO_ERROR
                                                                                            : ANEURALNETWORKS_BAD_DATA;
}

static int set(struct slot *slot, const ANeuralNetworksOperandType *type, struct ndk_argument found)
{
    bool is_open = !slot->is_input || found.place == NDK_NOTHING;
    int code = combine(slot, type, is_open, &found);
    if (code)
        return code;
    if (found.place == NDK_IN_MEMORY && ndk_is_of_device(found.memory))
        code = ndk_memory_bind(found.memory, slot->execution->compilation, slot->is_input, slot->index, &found);
    else if (found.place == NDK_IN_MEMORY)
        code = ndk_memory_check(found.memory, found.offset, found.length);
    else if (found.length > UINT32_MAX)
        code = ANEURALNETWORKS_BAD_DATA;
    if (!code && slot->argument->place != NDK_UNSET)
        code = ANEURALNETWORKS_BAD_STATE;
    if (!code && found.place == NDK_POINTER && !found.length)
        code = ANEURALNETWORKS_BAD_DATA;
    if (!code && found.place != NDK_NOTHING)
        code = check_length(slot, &found, found.length);
    if (code)
        free(found.dims);
    else
        *slot->argument = found;
    return code;
}

static int set_pointer(ANeuralNetworksExecution *execution, bool is_input, int32_t index,
                       const ANeuralNetworksOperandType *type, void *buffer, size_t length)
{
    struct slot slot;
    if (!execution || (!buffer && length))
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = find(execution, is_input, index, &slot);
    struct ndk_argument found = {.place = buffer ? NDK_POINTER : NDK_NOTHING, .pointer = buffer, .length = length};
    return code ? code : set(&slot, type, found);
}

static int set_memory(ANeuralNetworksExecution *execution, bool is_input, int32_t index,
                      const ANeuralNetworksOperandType *type, const ANeuralNetworksMemory *memory, size_t offset,
                      size_t length)
{
    struct slot slot;
    if (!execution || !memory)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = find(execution, is_input, index, &slot);
    struct ndk_argument found = {.place = NDK_IN_MEMORY, .memory = memory, .offset = offset, .length = length};
    return code ? code : set(&slot, type, found);
}

int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution *execution, int32_t index,
                                      const ANeuralNetworksOperandType *type, const void *buffer, size_t length)
{
    return set_pointer(execution, true, index, type, (void *)(uintptr_t)buffer, length);
}

int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution *execution, int32_t index,
                                                const ANeuralNetworksOperandType *type,
                                                const ANeuralNetworksMemory *memory, size_t offset, size_t length)
{
    return set_memory(execution, true, index, type, memory, offset, length);
}

int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution *execution, int32_t index,
                                       const ANeuralNetworksOperandType *type, void *buffer, size_t length)
{
    return set_pointer(execution, false, index, type, buffer, length);
}

int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution *execution, int32_t index,
                                                 const ANeuralNetworksOperandType *type,
                                                 const ANeuralNetworksMemory *memory, size_t offset, size_t length)
{
    return set_memory(execution, false, index, type, memory, offset, length);
}

/* -- settings -------------------------------------------------------------------------------------------------------- */
int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution *execution, bool reusable)
{
    if (!execution)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (phase_of(execution) != NDK_PREPARATION)
        return ANEURALNETWORKS_BAD_STATE;
    execution->is_reusable = reusable;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution *execution, bool enable)
{
    if (!execution)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (phase_of(execution) != NDK_PREPARATION || execution->has_lengths)
        return ANEURALNETWORKS_BAD_STATE;
    execution->has_padding = enable;
    return ANEURALNETWORKS_NO_ERROR;
}

/* Whether a setting that only a compilation for exactly one device has may be changed now: the device is looked at
 * first. */
static int check_single(const ANeuralNetworksExecution *execution)
{
    if (!execution)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (!execution->compilation->is_single)
        return ANEURALNETWORKS_BAD_DATA;
    return phase_of(execution) == NDK_PREPARATION ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_STATE;
}

int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution *execution, bool measure)
{
    int code = check_single(execution);
    if (!code)
        execution->is_measured = measure;
    return code;
}

int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution *execution, uint64_t duration)
{
    int code = check_single(execution);
    if (!code)
        execution->timeout = duration;
    return code;
}

int ANeuralNetworksExecution_addExtensionAttribute(ANeuralNetworksExecution *execution, const char *extensionName,
                                                   uint16_t attributeCodeWithinExtension, const void *data,
                                                   size_t length)
{
    int code = ndk_check_attribute(execution, extensionName, data, length);
    if (!code)
        code = check_single(execution);
    return code ? code : ndk_add_attribute(&execution->attributes, extensionName, attributeCodeWithinExtension);
}

int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution *execution, uint64_t duration)
{
    if (!execution)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (phase_of(execution) != NDK_PREPARATION)
        return ANEURALNETWORKS_BAD_STATE;
    execution->has_loop_timeout = true;
    execution->loop_timeout = duration;
    return ANEURALNETWORKS_NO_ERROR;
}

/* -- after a run ----------------------------------------------------------------------------------------------------- */
static int result_of(const ANeuralNetworksExecution *execution, int32_t index, const struct ndk_result **result)
{
    if (phase_of(execution) != NDK_COMPLETED || (execution->code != ANEURALNETWORKS_NO_ERROR &&
                                                 execution->code != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE))
        return ANEURALNETWORKS_BAD_STATE;
    if ((uint32_t)index >= execution->compilation->model->output_count)
        return ANEURALNETWORKS_BAD_DATA;
    *result = &execution->results[index];
    return ANEURALNETWORKS_NO_ERROR;
}

static int fit(const struct ndk_result *result)
{
    return result->is_sufficient ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;
}

int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution *execution, int32_t index, uint32_t *rank)
{
    const struct ndk_result *result;
    if (!execution || !rank)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = result_of(execution, index, &result);
    if (code)
        return code;
    *rank = result->rank;
    return fit(result);
}

int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution *execution, int32_t index,
                                                        uint32_t *dimensions)
{
    const struct ndk_result *result;
    if (!execution || !dimensions)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = result_of(execution, index, &result);
    if (code)
        return code;
    if (!result->rank)
        return ANEURALNETWORKS_BAD_DATA;
    memcpy(dimensions, result->dims, result->rank * sizeof *dimensions);
    return fit(result);
}

int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution *execution, int32_t durationCode,
                                         uint64_t *duration)
{
    if (!execution || !duration)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (durationCode < 0 || durationCode > ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER)
        return ANEURALNETWORKS_BAD_DATA;
    *duration = UINT64_MAX;
    if (phase_of(execution) != NDK_COMPLETED || execution->code || !execution->is_measured)
        return ANEURALNETWORKS_BAD_STATE;
    /* Dependencies are waited for before the work begins, so durations behind fences are the same ones. */
    *duration = durationCode % 2 ? execution->in_driver : execution->on_device;
    return ANEURALNETWORKS_NO_ERROR;
}
