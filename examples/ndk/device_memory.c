/* Keeps a value in memory of the device from run to run: a total, to which each run adds. Two memories take turns, since a
 * run must not write what it reads. */
#include <android/NeuralNetworks.h>
#include <android/sharedmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COUNT = 4, RUNS = 10, BYTES = COUNT * sizeof(float) };

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

    /* What the memories are for: input 0 and output 0 of this compilation, in all runs. */
    ANeuralNetworksMemoryDesc *desc;
    ANeuralNetworksMemory *totals[2], *shared;
    MUST(ANeuralNetworksMemoryDesc_create(&desc));
    MUST(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1));
    MUST(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 1));
    MUST(ANeuralNetworksMemoryDesc_finish(desc));
    MUST(ANeuralNetworksMemory_createFromDesc(desc, &totals[0]));
    MUST(ANeuralNetworksMemory_createFromDesc(desc, &totals[1]));
    ANeuralNetworksMemoryDesc_free(desc);

    /* The program cannot look into them: values go in and out by copies from and to memory of its own. */
    int fd = ASharedMemory_create("total", BYTES);
    float *total = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || total == MAP_FAILED)
        must(ANEURALNETWORKS_OUT_OF_MEMORY, "ASharedMemory_create");
    MUST(ANeuralNetworksMemory_createFromFd(BYTES, PROT_READ | PROT_WRITE, fd, 0, &shared));
    MUST(ANeuralNetworksMemory_copy(shared, totals[0])); /* zeros */

    for (int run = 0; run < RUNS; run++) {
        const float step[COUNT] = {1, 10, 100, (float)run};
        ANeuralNetworksExecution *execution;
        MUST(ANeuralNetworksExecution_create(compilation, &execution));
        MUST(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, totals[run % 2], 0, 0));
        MUST(ANeuralNetworksExecution_setInput(execution, 1, NULL, step, sizeof step));
        MUST(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, totals[(run + 1) % 2], 0, 0));
        MUST(ANeuralNetworksExecution_compute(execution));
        ANeuralNetworksExecution_free(execution);
    }
    MUST(ANeuralNetworksMemory_copy(totals[RUNS % 2], shared));
    for (int i = 0; i < COUNT; i++)
        printf("%g%c", total[i], i < COUNT - 1 ? ' ' : '\n');

    ANeuralNetworksMemory_free(totals[0]);
    ANeuralNetworksMemory_free(totals[1]);
    ANeuralNetworksMemory_free(shared);
    munmap(total, BYTES);
    close(fd);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return 0;
}
