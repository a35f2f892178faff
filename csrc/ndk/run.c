/* One run of an execution: its request to the driver, and what comes back. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "execution.h"

enum { UNWANTED_BYTES = 64 };

int ndk_begin(ANeuralNetworksExecution *execution)
{
    pthread_mutex_lock(&execution->lock);
    bool may = execution->phase == NDK_PREPARATION || (execution->phase == NDK_COMPLETED && execution->is_reusable);
    if (may)
        execution->phase = NDK_COMPUTATION;
    pthread_mutex_unlock(&execution->lock);
    return may ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_STATE;
}

int ndk_end(ANeuralNetworksExecution *execution, int code)
{
    pthread_mutex_lock(&execution->lock);
    execution->code = code;
    execution->phase = NDK_COMPLETED;
    pthread_mutex_unlock(&execution->lock);
    return code;
}

/* A run on its way. pools: the memories of the request, behind the arena; places: where each argument lies. unwanted:
 * bytes for an output that the caller does not want, by its number. */
struct run {
    ANeuralNetworksExecution *execution;
    struct ndk_connection *connection;
    uint32_t input_count, output_count;
    const ANeuralNetworksMemory **memories;
    int64_t *numbers;
    size_t memory_count, *starts, arena_size, *unwanted;
};

static struct ndk_argument *argument_of(const struct run *run, uint32_t place)
{
    return place < run->input_count ? &run->execution->inputs[place]
                                    : &run->execution->outputs[place - run->input_count];
}

/* Bytes that the request says an argument has; padding is not for the driver. */
static size_t length_of(const struct run *run, uint32_t place)
{
    const struct ndk_argument *argument = argument_of(run, place);
    if (argument->size)
        return argument->size;
    return argument->place == NDK_NOTHING ? run->unwanted[place - run->input_count] : argument->length;
}

/* Whether an argument travels through the arena: what is the caller's own, and outputs that nobody wants. */
static bool is_in_arena(const struct run *run, uint32_t place)
{
    enum ndk_place kind = argument_of(run, place)->place;
    return kind == NDK_POINTER || (kind == NDK_NOTHING && place >= run->input_count);
}

/* Lays out the arena, and finds the numbers of the memories. */
static int lay_out(struct run *run)
{
    size_t at = 0;
    run->memory_count = 0;
    for (uint32_t i = 0; i < run->input_count + run->output_count; i++) {
        const struct ndk_argument *argument = argument_of(run, i);
        if (is_in_arena(run, i)) {
            run->starts[i] = at;
            at += (length_of(run, i) + NDK_LINE - 1) / NDK_LINE * NDK_LINE;
        } else if (argument->place == NDK_IN_MEMORY) {
            size_t k = 0;
            while (k < run->memory_count && run->memories[k] != argument->memory)
                k++;
            run->memories[k] = argument->memory;
            run->memory_count += k == run->memory_count;
            run->starts[i] = k; /* number of its pool among the memories */
        }
    }
    run->arena_size = at;
    for (size_t k = 0; k < run->memory_count; k++) {
        ANeuralNetworksMemory *memory = (ANeuralNetworksMemory *)(uintptr_t)run->memories[k];
        int code = ndk_memory_number(memory, run->connection, &run->numbers[k]);
        if (code)
            return code;
    }
    return at ? ndk_reserve(run->connection, at) : ANEURALNETWORKS_NO_ERROR;
}

static void put_argument(struct ndk_buffer *message, const struct run *run, uint32_t place)
{
    const struct ndk_argument *argument = argument_of(run, place);
    bool is_omitted = argument->place == NDK_NOTHING && place < run->input_count;
    bool is_in_memory = argument->place == NDK_IN_MEMORY, has_arena = run->arena_size > 0;
    uint32_t rank = argument->has_dims && !is_omitted ? argument->rank : 0;
    ndk_put_array(message, 5);
    ndk_put_int(message, is_in_memory ? (int64_t)(run->starts[place] + has_arena) : 0);
    ndk_put_int(message, is_omitted ? 0 : is_in_memory ? (int64_t)argument->offset : (int64_t)run->starts[place]);
    ndk_put_int(message, is_omitted ? 0 : (int64_t)length_of(run, place));
    ndk_put_array(message, rank);
    for (uint32_t i = 0; i < rank; i++)
        ndk_put_int(message, argument->dims[i]);
    ndk_put_bool(message, is_omitted);
}

static void put_request(struct ndk_buffer *message, const struct run *run, uint64_t timeout)
{
    const ANeuralNetworksExecution *execution = run->execution;
    bool has_arena = run->arena_size > 0;
    /* All fields, in their shortest forms: the driver knows a request that comes again by its bytes. */
    ndk_put_array(message, 9);
    ndk_put_int(message, NDK_EXECUTE);
    ndk_put_int(message, execution->compilation->prepared->number);
    ndk_put_array(message, run->input_count);
    for (uint32_t i = 0; i < run->input_count; i++)
        put_argument(message, run, i);
    ndk_put_array(message, run->output_count);
    for (uint32_t i = 0; i < run->output_count; i++)
        put_argument(message, run, run->input_count + i);
    ndk_put_array(message, has_arena + run->memory_count);
    if (has_arena) {
        ndk_put_array(message, 4);
        ndk_put_text(message, "arena");
        ndk_put_int(message, 0);
        ndk_put_int(message, (int64_t)run->arena_size);
        ndk_put_bool(message, true);
    }
    for (size_t k = 0; k < run->memory_count; k++) {
        ndk_put_array(message, 4);
        ndk_put_text(message, "memory");
        ndk_put_int(message, run->numbers[k]);
        ndk_put_int(message, 0);
        ndk_put_bool(message, true);
    }
    ndk_put_bool(message, execution->is_measured);
    ndk_put_deadline(message, timeout);
    if (execution->has_loop_timeout) /* 0 is a limit, too, which the driver's durations cannot say */
        ndk_put_double(message, execution->loop_timeout ? 1e-9 * (double)execution->loop_timeout : 1e-9);
    else
        ndk_put_nil(message);
    ndk_put_bool(message, false); /* launch */
}

/* Copies between the caller's memory and the arena. */
static void copy_in(const struct run *run)
{
    for (uint32_t i = 0; i < run->input_count; i++)
        if (is_in_arena(run, i))
            memcpy(run->connection->arena + run->starts[i], argument_of(run, i)->pointer, length_of(run, i));
}

static void copy_out(const struct run *run, struct ndk_reader *answer)
{
    size_t count = ndk_get_array(answer);
    for (uint32_t i = 0; i < run->output_count && i < count; i++) {
        const struct ndk_argument *argument = &run->execution->outputs[i];
        int64_t size = ndk_get_int(answer);
        if (answer->failed || argument->place != NDK_POINTER || size <= 0)
            continue;
        size_t bytes = (uint64_t)size < argument->length ? (size_t)size : argument->length;
        memcpy(argument->pointer, run->connection->arena + run->starts[run->input_count + i], bytes);
    }
}

/* Reads the shapes of the outputs; false if they are not the shapes of this many outputs. */
static bool read_shapes(const struct run *run, struct ndk_reader *answer)
{
    if (ndk_get_array(answer) != run->output_count)
        return false;
    for (uint32_t i = 0; i < run->output_count; i++) {
        struct ndk_result *result = &run->execution->results[i];
        ndk_get_array(answer);
        size_t rank = ndk_get_array(answer);
        uint32_t *dims = rank < UINT32_MAX ? realloc(result->dims, (rank + 1) * sizeof *dims) : NULL;
        if (!dims)
            return false;
        result->dims = dims;
        result->rank = (uint32_t)rank;
        for (size_t k = 0; k < rank; k++)
            dims[k] = (uint32_t)ndk_get_int(answer);
        result->is_sufficient = ndk_get_bool(answer);
    }
    return !answer->failed;
}

/* Nanoseconds of a number of microseconds; UINT64_MAX if it was not measured. */
static uint64_t read_duration(struct ndk_reader *answer)
{
    if (ndk_get_nil(answer))
        return UINT64_MAX;
    int64_t us = ndk_get_int(answer);
    return us < 0 || (uint64_t)us > UINT64_MAX / 1000 - 1 ? UINT64_MAX - 1 : 1000 * (uint64_t)us;
}

static int send_request(struct run *run, uint64_t timeout)
{
    ANeuralNetworksExecution *execution = run->execution;
    struct ndk_buffer message = {0};
    struct ndk_reader answer;
    int code = lay_out(run);
    if (!code) {
        copy_in(run);
        put_request(&message, run, timeout);
        code = ndk_call(run->connection, &message, -1, NDK_EXECUTED, &answer, "Execution");
        ndk_buffer_free(&message);
    }
    /* What is wrong with the arguments was found when they were set: here the values are, or the shapes. */
    if (code == ANEURALNETWORKS_BAD_DATA)
        code = ANEURALNETWORKS_OP_FAILED;
    if (code == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE && !read_shapes(run, &answer))
        code = ANEURALNETWORKS_OP_FAILED;
    if (code)
        return code;
    if (!read_shapes(run, &answer))
        return ANEURALNETWORKS_OP_FAILED;
    ndk_get_array(&answer);
    execution->on_device = read_duration(&answer);
    execution->in_driver = read_duration(&answer);
    copy_out(run, &answer);
    return answer.failed ? ANEURALNETWORKS_OP_FAILED : code;
}

/* Gives outputs that nobody wants the room that they turned out to need; false if the others lack room, too. */
static bool makes_room(struct run *run)
{
    for (uint32_t i = 0; i < run->output_count; i++) {
        const struct ndk_result *result = &run->execution->results[i];
        const ANeuralNetworksModel *model = run->execution->compilation->model;
        if (result->is_sufficient)
            continue;
        uint64_t size = ndk_bytes(model->operands[model->outputs[i]].type, result->rank, result->dims);
        if (run->execution->outputs[i].place != NDK_NOTHING || !size || size == UINT64_MAX ||
            run->unwanted[i] >= size)
            return false;
        run->unwanted[i] = (size_t)size;
    }
    return true;
}

static int run_on(struct run *run, uint64_t timeout)
{
    size_t count = (size_t)run->input_count + run->output_count;
    run->memories = calloc(count, sizeof *run->memories);
    run->numbers = calloc(count, sizeof *run->numbers);
    run->starts = calloc(count, sizeof *run->starts);
    run->unwanted = calloc(run->output_count + (size_t)1, sizeof *run->unwanted);
    int code = ANEURALNETWORKS_OUT_OF_MEMORY;
    if (run->memories && run->numbers && run->starts && run->unwanted) {
        for (uint32_t i = 0; i < run->output_count; i++)
            run->unwanted[i] = UNWANTED_BYTES;
        code = send_request(run, timeout);
        if (code == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE && makes_room(run))
            code = send_request(run, timeout);
    }
    free(run->memories);
    free(run->numbers);
    free(run->starts);
    free(run->unwanted);
    return code;
}

bool ndk_is_complete(const ANeuralNetworksExecution *execution)
{
    const ANeuralNetworksModel *model = execution->compilation->model;
    for (uint32_t i = 0; i < model->input_count; i++)
        if (execution->inputs[i].place == NDK_UNSET)
            return false;
    for (uint32_t i = 0; i < model->output_count; i++)
        if (execution->outputs[i].place == NDK_UNSET)
            return false;
    return true;
}

/* Whether all inputs in memory of the device have values. */
static bool has_inputs(const ANeuralNetworksExecution *execution)
{
    for (uint32_t i = 0; i < execution->compilation->model->input_count; i++)
        if (execution->inputs[i].place == NDK_IN_MEMORY && !ndk_has_value(execution->inputs[i].memory))
            return false;
    return true;
}

static int compute(ANeuralNetworksExecution *execution, uint64_t timeout)
{
    const ANeuralNetworksCompilation *compilation = execution->compilation;
    struct run run = {.execution = execution, .input_count = compilation->model->input_count,
                      .output_count = compilation->model->output_count};
    if (!compilation->prepared->can_run || !has_inputs(execution))
        return ANEURALNETWORKS_OP_FAILED;
    int code = ndk_take(compilation->prepared->session, &run.connection);
    if (code)
        return code;
    code = run_on(&run, timeout);
    ndk_give(run.connection);
    return code;
}

int ndk_run(ANeuralNetworksExecution *execution, uint64_t timeout)
{
    if (!ndk_is_complete(execution))
        return ANEURALNETWORKS_BAD_DATA;
    int code = compute(execution, timeout);
    for (uint32_t i = 0; i < execution->compilation->model->output_count; i++)
        if (execution->outputs[i].place == NDK_IN_MEMORY)
            ndk_set_value(execution->outputs[i].memory, code == ANEURALNETWORKS_NO_ERROR);
    return code;
}
