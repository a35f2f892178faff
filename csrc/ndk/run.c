/* Runs of executions, and which way they go. */
#define _GNU_SOURCE
#include "run.h"

#include <stdlib.h>
#include <string.h>

enum { UNWANTED_BYTES = 64 };

/* -- the execution --------------------------------------------------------------------------------------------------- */
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

/* -- its way --------------------------------------------------------------------------------------------------------- */
/* Gives outputs that nobody wants the room that they turned out to need; false if the others lack room, too. */
static bool makes_room(struct ndk_run *run)
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

static int go(struct ndk_run *run, uint64_t timeout)
{
    ndk_run_lay_out(run);
    int code = timeout ? NDK_OTHER_WAY : ndk_run_by_lane(run);
    return code == NDK_OTHER_WAY ? ndk_run_by_message(run, timeout) : code;
}

static int compute(ANeuralNetworksExecution *execution, uint64_t timeout)
{
    const ANeuralNetworksCompilation *compilation = execution->compilation;
    uint32_t inputs = compilation->model->input_count, outputs = compilation->model->output_count;
    size_t count = (size_t)inputs + outputs;
    if (!compilation->prepared->can_run || !has_inputs(execution))
        return ANEURALNETWORKS_OP_FAILED;
    struct ndk_run run = {.execution = execution, .input_count = inputs, .output_count = outputs};
    run.memories = malloc(count * sizeof *run.memories);
    run.starts = calloc(count, sizeof *run.starts);
    run.unwanted = malloc((outputs + (size_t)1) * sizeof *run.unwanted);
    int code = ANEURALNETWORKS_OUT_OF_MEMORY;
    if (run.memories && run.starts && run.unwanted) {
        for (uint32_t i = 0; i < outputs; i++)
            run.unwanted[i] = UNWANTED_BYTES;
        code = go(&run, timeout);
        if (code == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE && makes_room(&run))
            code = go(&run, timeout);
    }
    free(run.memories);
    free(run.starts);
    free(run.unwanted);
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
