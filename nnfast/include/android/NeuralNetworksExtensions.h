/* Operand types and operations of vendor extensions (docs/extensions.md). */
#ifndef ANDROID_NEURAL_NETWORKS_EXTENSIONS_H
#define ANDROID_NEURAL_NETWORKS_EXTENSIONS_H

#include "NeuralNetworks.h"

#ifdef __cplusplus
extern "C" {
#endif

int ANeuralNetworksDevice_getExtensionSupport(const ANeuralNetworksDevice *device, const char *extensionName,
                                              bool *isExtensionSupported);

/* Codes of an extension in this process, for operands and operations of any model. */
int ANeuralNetworksModel_getExtensionOperandType(ANeuralNetworksModel *model, const char *extensionName,
                                                 uint16_t operandCodeWithinExtension, int32_t *type);
int ANeuralNetworksModel_getExtensionOperationType(ANeuralNetworksModel *model, const char *extensionName,
                                                   uint16_t operationCodeWithinExtension,
                                                   ANeuralNetworksOperationType *type);

/* Bytes that belong to the type of an operand, which are copied; NULL and 0: none. */
int ANeuralNetworksModel_setOperandExtensionData(ANeuralNetworksModel *model, int32_t index, const void *data,
                                                 size_t length);

/* Hints of an extension for a compilation or an execution on one device. The names are checked; no extension of this
 * driver looks at one. */
int ANeuralNetworksCompilation_addExtensionAttribute(ANeuralNetworksCompilation *compilation, const char *extensionName,
                                                     uint16_t attributeCodeWithinExtension, const void *data,
                                                     size_t length);
int ANeuralNetworksExecution_addExtensionAttribute(ANeuralNetworksExecution *execution, const char *extensionName,
                                                   uint16_t attributeCodeWithinExtension, const void *data,
                                                   size_t length);

#ifdef __cplusplus
}
#endif
#endif
