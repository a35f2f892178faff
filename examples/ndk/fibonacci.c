/* A vendor extension: the numbers of Fibonacci, by the package in examples/fibonacci_extension, which the driver needs. */
#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define EXTENSION "com.example.fibonacci"
enum { COUNT = 10, EXAMPLE_INT64 = 0, EXAMPLE_TENSOR_QUANT64_ASYMM = 1, EXAMPLE_FIBONACCI = 0 };

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
    ANeuralNetworksDevice *device;
    bool has_extension;
    MUST(ANeuralNetworks_getDevice(0, &device));
    MUST(ANeuralNetworksDevice_getExtensionSupport(device, EXTENSION, &has_extension));
    if (!has_extension) {
        fprintf(stderr, "the driver has no extension " EXTENSION "; pip install examples/fibonacci_extension\n");
        return 1;
    }

    /* Codes of types and operations of an extension hold in this process only: ask for them. */
    ANeuralNetworksModel *model;
    int32_t scalar, tensor;
    ANeuralNetworksOperationType fibonacci;
    MUST(ANeuralNetworksModel_create(&model));
    MUST(ANeuralNetworksModel_getExtensionOperandType(model, EXTENSION, EXAMPLE_INT64, &scalar));
    MUST(ANeuralNetworksModel_getExtensionOperandType(model, EXTENSION, EXAMPLE_TENSOR_QUANT64_ASYMM, &tensor));
    MUST(ANeuralNetworksModel_getExtensionOperationType(model, EXTENSION, EXAMPLE_FIBONACCI, &fibonacci));

    const uint32_t extents[] = {COUNT}, in[] = {0}, out[] = {1};
    const ANeuralNetworksOperandType n = {scalar, 0, NULL, 0, 0}, numbers = {tensor, 1, extents, 0, 0};
    const struct {
        double scale;
        int64_t zero_point;
    } quantization = {1, 0};
    MUST(ANeuralNetworksModel_addOperand(model, &n));
    MUST(ANeuralNetworksModel_addOperand(model, &numbers));
    MUST(ANeuralNetworksModel_setOperandExtensionData(model, 1, &quantization, sizeof quantization));
    MUST(ANeuralNetworksModel_addOperation(model, fibonacci, 1, in, 1, out));
    MUST(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, in, 1, out));
    MUST(ANeuralNetworksModel_finish(model));

    const ANeuralNetworksDevice *devices[] = {device};
    ANeuralNetworksCompilation *compilation;
    MUST(ANeuralNetworksCompilation_createForDevices(model, devices, 1, &compilation));
    MUST(ANeuralNetworksCompilation_finish(compilation));

    const int64_t count = COUNT;
    uint64_t sequence[COUNT];
    ANeuralNetworksExecution *execution;
    MUST(ANeuralNetworksExecution_create(compilation, &execution));
    MUST(ANeuralNetworksExecution_setInput(execution, 0, NULL, &count, sizeof count));
    MUST(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sequence, sizeof sequence));
    MUST(ANeuralNetworksExecution_compute(execution));
    for (int i = 0; i < COUNT; i++)
        printf("%" PRIu64 "%c", sequence[i], i < COUNT - 1 ? ' ' : '\n');

    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return 0;
}
