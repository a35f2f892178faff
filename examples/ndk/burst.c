/* Runs one small model many times in a burst, and tells how long a run takes: the result on stdout, times on stderr. */
#include <android/NeuralNetworks.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COUNT = 4, RUNS = 2000 };

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

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static double took[RUNS];
    ANeuralNetworksModel *model = addition();
    ANeuralNetworksCompilation *compilation;
    MUST(ANeuralNetworksCompilation_create(model, &compilation));
    MUST(ANeuralNetworksCompilation_setPreference(compilation, ANEURALNETWORKS_PREFER_SUSTAINED_SPEED));
    MUST(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksBurst *burst;
    MUST(ANeuralNetworksBurst_create(compilation, &burst));

    /* A reusable execution keeps its arguments; what lies there may change from run to run. */
    float count[COUNT] = {0}, step[COUNT] = {1, 2, 3, 4}, sum[COUNT];
    ANeuralNetworksExecution *execution;
    MUST(ANeuralNetworksExecution_create(compilation, &execution));
    MUST(ANeuralNetworksExecution_setReusable(execution, true));
    MUST(ANeuralNetworksExecution_setInput(execution, 0, NULL, count, sizeof count));
    MUST(ANeuralNetworksExecution_setInput(execution, 1, NULL, step, sizeof step));
    MUST(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof sum));
    for (int run = 0; run < RUNS; run++) {
        double begin = now_us();
        MUST(ANeuralNetworksExecution_burstCompute(execution, burst));
        took[run] = now_us() - begin;
        for (int i = 0; i < COUNT; i++)
            count[i] = sum[i];
    }
    printf("%g %g %g %g after %d runs\n", sum[0], sum[1], sum[2], sum[3], RUNS);
    qsort(took, RUNS, sizeof *took, compare);
    fprintf(stderr, "a run: median %.1f us, 99 of 100 within %.1f us\n", took[RUNS / 2], took[RUNS - RUNS / 100]);

    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return 0;
}
