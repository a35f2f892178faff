/* Adds two tensors: the whole way from a model to its result. */
#include <android/NeuralNetworks.h>
#include <stdio.h>
#include <stdlib.h>

/* Every function tells what came of it. */
static void must(int code, const char *what)
{
    if (code != ANEURALNETWORKS_NO_ERROR) {
        fprintf(stderr, "%s: result code %d (NNFAST_VLOG=all tells why)\n", what, code);
        exit(1);
    }
}
#define MUST(call) must(call, #call)

int main(void)
{
    const uint32_t dims[] = {2, 3};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, dims, 0, 0};
    const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    const int32_t activation = ANEURALNETWORKS_FUSED_NONE;

    /* The model: operands 0 and 1 are added to operand 3. */
    const uint32_t arguments[] = {0, 1, 2}, inputs[] = {0, 1}, outputs[] = {3};
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

    ANeuralNetworksCompilation *compilation;
    MUST(ANeuralNetworksCompilation_create(model, &compilation));
    MUST(ANeuralNetworksCompilation_finish(compilation));

    const float x[] = {1, 2, 3, 4, 5, 6}, y[] = {10, 20, 30, 40, 50, 60};
    float sum[6];
    ANeuralNetworksExecution *execution;
    MUST(ANeuralNetworksExecution_create(compilation, &execution));
    MUST(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof x));
    MUST(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof y));
    MUST(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof sum));
    MUST(ANeuralNetworksExecution_compute(execution));
    for (int i = 0; i < 6; i++)
        printf("%g%c", sum[i], i < 5 ? ' ' : '\n');

    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return 0;
}
