/* Runs by messages. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "fields.h"
#include "run.h"

/* numbers: of the memories in the session. */
struct request {
    const struct ndk_run *run;
    struct ndk_connection *connection;
    int64_t *numbers;
};

static void put_argument(struct ndk_buffer *message, const struct ndk_run *run, uint32_t place)
{
    const struct ndk_argument *argument = ndk_run_argument(run, place);
    bool is_omitted = ndk_run_omits(run, place), is_in_memory = argument->place == NDK_IN_MEMORY;
    bool has_arena = run->arena_size > 0;
    uint32_t rank = ndk_run_rank(run, place);
    ndk_put_array(message, 5);
    ndk_put_int(message, is_in_memory ? (int64_t)(run->starts[place] + has_arena) : 0);
    ndk_put_int(message, is_omitted ? 0 : is_in_memory ? (int64_t)argument->offset : (int64_t)run->starts[place]);
    ndk_put_int(message, is_omitted ? 0 : (int64_t)ndk_run_length(run, place));
    ndk_put_array(message, rank);
    for (uint32_t i = 0; i < rank; i++)
        ndk_put_int(message, argument->dims[i]);
    ndk_put_bool(message, is_omitted);
}

static void put_pool(struct ndk_buffer *message, const char *kind, int64_t number, size_t size)
{
    ndk_put_array(message, 4);
    ndk_put_text(message, kind);
    ndk_put_int(message, number);
    ndk_put_int(message, (int64_t)size);
    ndk_put_bool(message, true);
}

static void put_request(struct ndk_buffer *message, const struct request *request, uint64_t timeout)
{
    const struct ndk_run *run = request->run;
    const ANeuralNetworksExecution *execution = run->execution;
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
    ndk_put_array(message, (run->arena_size > 0) + run->memory_count);
    if (run->arena_size)
        put_pool(message, "arena", 0, run->arena_size);
    for (size_t k = 0; k < run->memory_count; k++)
        put_pool(message, "memory", request->numbers[k], 0);
    ndk_put_bool(message, execution->is_measured);
    ndk_put_deadline(message, timeout);
    if (execution->has_loop_timeout) /* 0 is a limit, too, which the driver's durations cannot say */
        ndk_put_double(message, execution->loop_timeout ? 1e-9 * (double)execution->loop_timeout : 1e-9);
    else
        ndk_put_nil(message);
    ndk_put_bool(message, false); /* launch */
}

/* Reads the shapes of the outputs; false if they are not the shapes of this many outputs. */
static bool read_shapes(const struct ndk_run *run, struct ndk_reader *answer)
{
    if (ndk_get_array(answer) != run->output_count)
        return false;
    for (uint32_t i = 0; i < run->output_count; i++) {
        ndk_get_array(answer);
        struct ndk_result *result = ndk_run_result(run, i, ndk_get_array(answer));
        if (!result)
            return false;
        for (size_t k = 0; k < result->rank; k++)
            result->dims[k] = (uint32_t)ndk_get_int(answer);
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

static int read_answer(const struct ndk_run *run, const uint8_t *arena, struct ndk_reader *answer)
{
    if (!read_shapes(run, answer))
        return ANEURALNETWORKS_OP_FAILED;
    ndk_get_array(answer);
    run->execution->on_device = read_duration(answer);
    run->execution->in_driver = read_duration(answer);
    size_t count = ndk_get_array(answer);
    for (uint32_t i = 0; i < run->output_count && i < count; i++) {
        int64_t size = ndk_get_int(answer);
        if (!answer->failed && size > 0)
            ndk_run_copy_out(run, arena, i, (uint64_t)size);
    }
    return answer->failed ? ANEURALNETWORKS_OP_FAILED : ANEURALNETWORKS_NO_ERROR;
}

static int send(const struct request *request, uint64_t timeout)
{
    const struct ndk_run *run = request->run;
    struct ndk_buffer message = {0};
    struct ndk_reader answer;
    for (size_t k = 0; k < run->memory_count; k++) {
        ANeuralNetworksMemory *memory = (ANeuralNetworksMemory *)(uintptr_t)run->memories[k];
        int code = ndk_memory_number(memory, request->connection, &request->numbers[k]);
        if (code)
            return code;
    }
    int code = run->arena_size ? ndk_reserve(request->connection, run->arena_size) : ANEURALNETWORKS_NO_ERROR;
    if (code)
        return code;
    ndk_run_copy_in(run, request->connection->arena);
    put_request(&message, request, timeout);
    code = ndk_call(request->connection, &message, -1, NDK_EXECUTED, &answer, "Execution");
    ndk_buffer_free(&message);
    /* What is wrong with the arguments was found when they were set: here the values are, or the shapes. */
    if (code == ANEURALNETWORKS_BAD_DATA)
        return ANEURALNETWORKS_OP_FAILED;
    if (code == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE && !read_shapes(run, &answer))
        return ANEURALNETWORKS_OP_FAILED;
    return code ? code : read_answer(run, request->connection->arena, &answer);
}

int ndk_run_by_message(const struct ndk_run *run, uint64_t timeout)
{
    struct request request = {.run = run};
    int code = ndk_take(run->execution->compilation->prepared->session, &request.connection);
    if (code)
        return code;
    request.numbers = calloc(run->memory_count + 1, sizeof *request.numbers);
    code = request.numbers ? send(&request, timeout) : ANEURALNETWORKS_OUT_OF_MEMORY;
    free(request.numbers);
    ndk_give(request.connection);
    return code;
}
