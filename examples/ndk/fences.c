/* Chains runs by fences: each begins when the one before has ended, and nobody waits in between. The values stay in one
 * memory, in which each run reads what the last one wrote. */
#include <android/NeuralNetworks.h>
#include <android/sharedmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COUNT = 4, RUNS = 5, BYTES = COUNT * sizeof(float) };

static void must(int code, const char *what)
{
    if (code != ANEURALNETWORKS_NO_ERROR) {
        fprintf(stderr, "%s: result code %d (NNFAST_VLOG=all tells why)\n", what, code);
        exit(1);
    }
}
#define MUST(call) must(call, #call)

static ANeuralNetworksModel *addition(void)
{
    static const uint32_t dims[] = {COUNT}, arguments[] = {0, 1, 2}, inputs[] = {0, 1}, outputs[] = {3};
    static const int32_t activation = ANEURALNETWORKS_FUSED_NONE;
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, dims, 0, 0};
    const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    ANeuralNetworksModel *model;
    MUST(ANeuralNetworksModel_create(&model));
    MUST(ANeuralNetworksModel_addOperand(model, &tensor));
    MUST(ANeuralNetworksModel_addOperand(model, &tensor));
    MUST(ANeuralNetworksModel_addOperand(model, &scalar));
    MUST(ANeuralNetworksModel_addOperand(model, &tensor));
    MUST(ANeuralNetworksModel_setOperandValue(model, 2, &activation, sizeof activation));
    MUST(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, arguments, 1, outputs));
    MUST(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
    MUST(ANeuralNetworksModel_finish(model));
    return model;
}

int main(void)
{
    ANeuralNetworksModel *model = addition();
    ANeuralNetworksCompilation *compilation;
    MUST(ANeuralNetworksCompilation_create(model, &compilation));
    MUST(ANeuralNetworksCompilation_finish(compilation));

    /* RUNS + 1 values one after the other, and what is added each time behind them. */
    int fd = ASharedMemory_create("values", (RUNS + 2) * BYTES);
    float *values = mmap(NULL, (RUNS + 2) * BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ANeuralNetworksMemory *memory;
    if (fd < 0 || values == MAP_FAILED)
        must(ANEURALNETWORKS_OUT_OF_MEMORY, "ASharedMemory_create");
    MUST(ANeuralNetworksMemory_createFromFd((RUNS + 2) * BYTES, PROT_READ | PROT_WRITE, fd, 0, &memory));
    for (int i = 0; i < COUNT; i++) {
        values[i] = (float)i;
        values[(RUNS + 1) * COUNT + i] = 10;
    }

    ANeuralNetworksExecution *executions[RUNS];
    ANeuralNetworksEvent *events[RUNS];
    for (int run = 0; run < RUNS; run++) {
        const ANeuralNetworksEvent *const before[] = {run ? events[run - 1] : NULL};
        size_t from = (size_t)run * BYTES;
        MUST(ANeuralNetworksExecution_create(compilation, &executions[run]));
        MUST(ANeuralNetworksExecution_setInputFromMemory(executions[run], 0, NULL, memory, from, BYTES));
        MUST(ANeuralNetworksExecution_setInputFromMemory(executions[run], 1, NULL, memory, (RUNS + 1) * BYTES, BYTES));
        MUST(ANeuralNetworksExecution_setOutputFromMemory(executions[run], 0, NULL, memory, from + BYTES, BYTES));
        MUST(ANeuralNetworksExecution_startComputeWithDependencies(executions[run], before, run > 0, 0, &events[run]));
    }
    MUST(ANeuralNetworksEvent_wait(events[RUNS - 1]));
    for (int i = 0; i < COUNT; i++)
        printf("%g%c", values[RUNS * COUNT + i], i < COUNT - 1 ? ' ' : '\n');

    for (int run = 0; run < RUNS; run++) {
        ANeuralNetworksEvent_free(events[run]);
        ANeuralNetworksExecution_free(executions[run]);
    }
    ANeuralNetworksMemory_free(memory);
    munmap(values, (RUNS + 2) * BYTES);
    close(fd);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return 0;
}
