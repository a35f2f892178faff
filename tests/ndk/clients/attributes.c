/* Attributes of an extension that the driver has, and of one that it has not. */
#include "../programs/cases.h"

#define KNOWN "com.example.fibonacci"

int main(void)
{
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    Model *model = plain_add();
    const Device *one = device(0);
    Compilation *any, *single;
    IS(ANeuralNetworksCompilation_create(model, &any), OK);
    IS(ANeuralNetworksCompilation_createForDevices(model, &one, 1, &single), OK);
    IS(ANeuralNetworksCompilation_addExtensionAttribute(NULL, KNOWN, 1, NULL, 0), N);
    IS(ANeuralNetworksCompilation_addExtensionAttribute(single, NULL, 1, NULL, 0), N);
    IS(ANeuralNetworksCompilation_addExtensionAttribute(single, KNOWN, 1, NULL, 4), N);
    IS(ANeuralNetworksCompilation_addExtensionAttribute(any, KNOWN, 1, NULL, 0), D);
    IS(ANeuralNetworksCompilation_addExtensionAttribute(single, "com.example.none", 1, NULL, 0), D);
    IS(ANeuralNetworksCompilation_addExtensionAttribute(single, KNOWN, 1, NULL, 0), OK);
    IS(ANeuralNetworksCompilation_addExtensionAttribute(single, KNOWN, 1, "more", 4), D);
    IS(ANeuralNetworksCompilation_addExtensionAttribute(single, KNOWN, 2, "more", 4), OK);
    IS(ANeuralNetworksCompilation_finish(any), OK);
    IS(ANeuralNetworksCompilation_finish(single), OK);
    IS(ANeuralNetworksCompilation_addExtensionAttribute(any, KNOWN, 3, NULL, 0), S);
    IS(ANeuralNetworksCompilation_addExtensionAttribute(single, KNOWN, 3, NULL, 0), S);

    Execution *of_any = new_execution(any), *of_single = new_execution(single);
    IS(ANeuralNetworksExecution_addExtensionAttribute(NULL, KNOWN, 1, NULL, 0), N);
    IS(ANeuralNetworksExecution_addExtensionAttribute(of_single, NULL, 1, NULL, 0), N);
    IS(ANeuralNetworksExecution_addExtensionAttribute(of_single, KNOWN, 1, NULL, 4), N);
    IS(ANeuralNetworksExecution_addExtensionAttribute(of_any, KNOWN, 1, NULL, 0), D);
    IS(ANeuralNetworksExecution_addExtensionAttribute(of_single, "com.example.none", 1, NULL, 0), D);
    IS(ANeuralNetworksExecution_addExtensionAttribute(of_single, KNOWN, 1, NULL, 0), OK);
    IS(ANeuralNetworksExecution_addExtensionAttribute(of_single, KNOWN, 1, NULL, 0), D);
    give(of_single, &sums);
    IS(ANeuralNetworksExecution_compute(of_single), OK);
    TRUE_(sums.z[0] == 4 && sums.z[1] == 6);
    IS(ANeuralNetworksExecution_addExtensionAttribute(of_single, KNOWN, 2, NULL, 0), S);
    IS(ANeuralNetworksExecution_addExtensionAttribute(of_any, KNOWN, 2, NULL, 0), D);

    ANeuralNetworksExecution_free(of_any);
    ANeuralNetworksExecution_free(of_single);
    ANeuralNetworksCompilation_free(any);
    ANeuralNetworksCompilation_free(single);
    ANeuralNetworksModel_free(model);
    return wrong ? 1 : 0;
}
