/* Compiles an addition for the devices whose numbers follow a directory for compiled models, and runs it. */
#include "../programs/cases.h"

int main(int argc, char **argv)
{
    static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    const Device *devices[2];
    uint32_t count = 0;
    Model *model = plain_add();
    Compilation *compilation;
    while (count < 2 && (int)count < argc - 2) {
        devices[count] = device((uint32_t)atoi(argv[2 + count]));
        count++;
    }
    IS(ANeuralNetworksCompilation_createForDevices(model, devices, count, &compilation), OK);
    IS(ANeuralNetworksCompilation_setCaching(compilation, argv[1], token), OK);
    IS(ANeuralNetworksCompilation_finish(compilation), OK);
    Execution *execution = new_execution(compilation);
    give(execution, &sums);
    IS(ANeuralNetworksExecution_compute(execution), OK);
    TRUE_(sums.z[0] == 4 && sums.z[1] == 6);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return wrong ? 1 : 0;
}
