/* The Neural Networks API (NNAPI) on Linux: a client of nnfast's driver (docs/library.md).
 *
 * All functions that return int return a ResultCode. Functions that create an object write its address; it belongs to
 * the caller, who frees it, and stays alive longer than what was made from it. */
#ifndef ANDROID_NEURAL_NETWORKS_H
#define ANDROID_NEURAL_NETWORKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "NeuralNetworksTypes.h"
#include "hardware_buffer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- devices: there are the same ones for the whole life of the process ---------------------------------------------- */
int ANeuralNetworks_getDeviceCount(uint32_t *numDevices);
int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice **device);
int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice *device, const char **name);
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice *device, int32_t *type);
int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice *device, const char **version);
int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice *device, int64_t *featureLevel);

/* Returns once the driver's process serves, which is started if need be. */
int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice *device);

int64_t ANeuralNetworks_getRuntimeFeatureLevel(void);

/* Nanoseconds that each WHILE may take. */
uint64_t ANeuralNetworks_getDefaultLoopTimeout(void);
uint64_t ANeuralNetworks_getMaximumLoopTimeout(void);

/* -- memory ---------------------------------------------------------------------------------------------------------- */
/* `size` bytes from `offset` of a file, which is duplicated. protect: PROT_READ and PROT_WRITE. */
int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
                                       ANeuralNetworksMemory **memory);
/* The buffer must live longer than the memory. */
int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer *ahwb, ANeuralNetworksMemory **memory);
void ANeuralNetworksMemory_free(ANeuralNetworksMemory *memory);

/* Copies the whole value; its size and, between memories of the device, its shape must be the same. */
int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory *src, const ANeuralNetworksMemory *dst);

/* Memory of the device: it holds one value, as the inputs and outputs that its descriptor names, and nothing at first.
 * The sizes of all dimensions must be known. */
int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc *desc, ANeuralNetworksMemory **memory);
int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc **desc);
void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc *desc);

/* Input or output `index` of a finished compilation. frequency: how often it will be that, above 0 and at most 1. */
int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc *desc,
                                           const ANeuralNetworksCompilation *compilation, uint32_t index,
                                           float frequency);
int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc *desc,
                                            const ANeuralNetworksCompilation *compilation, uint32_t index,
                                            float frequency);
int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc *desc, uint32_t rank,
                                            const uint32_t *dimensions);
int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc *desc);

/* -- models: operands, their values, operations, then inputs and outputs; finished, they no longer change --------- */
int ANeuralNetworksModel_create(ANeuralNetworksModel **model);
void ANeuralNetworksModel_free(ANeuralNetworksModel *model);

/* The first operand has index 0, and so on. */
int ANeuralNetworksModel_addOperand(ANeuralNetworksModel *model, const ANeuralNetworksOperandType *type);

/* A constant, which is copied. NULL and 0: the operand is omitted. */
int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel *model, int32_t index, const void *buffer,
                                         size_t length);

/* A constant in memory, which must not change from the call of finish on. */
int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel *model, int32_t index,
                                                   const ANeuralNetworksMemory *memory, size_t offset, size_t length);

/* A finished model, for operations of control flow. */
int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel *model, int32_t index,
                                                  const ANeuralNetworksModel *value);
int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel *model, int32_t index, const ANeuralNetworksSymmPerChannelQuantParams *channelQuant);

/* Operations may come in any order. */
int ANeuralNetworksModel_addOperation(ANeuralNetworksModel *model, ANeuralNetworksOperationType type,
                                      uint32_t inputCount, const uint32_t *inputs, uint32_t outputCount,
                                      const uint32_t *outputs);
int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel *model, uint32_t inputCount,
                                                  const uint32_t *inputs, uint32_t outputCount,
                                                  const uint32_t *outputs);
int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel *model, bool allow);
int ANeuralNetworksModel_finish(ANeuralNetworksModel *model);

/* Writes for each operation whether one of the devices supports it. */
int ANeuralNetworksModel_getSupportedOperationsForDevices(const ANeuralNetworksModel *model,
                                                          const ANeuralNetworksDevice *const *devices,
                                                          uint32_t numDevices, bool *supportedOps);

/* -- compilations ---------------------------------------------------------------------------------------------------- */
int ANeuralNetworksCompilation_create(ANeuralNetworksModel *model, ANeuralNetworksCompilation **compilation);
int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel *model,
                                                const ANeuralNetworksDevice *const *devices, uint32_t numDevices,
                                                ANeuralNetworksCompilation **compilation);
void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation *compilation);
int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation *compilation, int32_t preference);
int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation *compilation, int priority);

/* Keeps the compiled model in files of a directory, and takes it from there the next time. token: the 32 bytes
 * (ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN) that stand for the model. */
int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation *compilation, const char *cacheDir,
                                          const uint8_t *token);

/* Nanoseconds that finish may take; for compilations that were created for one device. */
int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation *compilation, uint64_t duration);
int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation *compilation);

/* Alignment of addresses, and what lengths are best rounded up to; others work as well. */
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(const ANeuralNetworksCompilation *compilation,
                                                                   uint32_t index, uint32_t *alignment);
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(const ANeuralNetworksCompilation *compilation,
                                                                 uint32_t index, uint32_t *padding);
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(const ANeuralNetworksCompilation *compilation,
                                                                    uint32_t index, uint32_t *alignment);
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(const ANeuralNetworksCompilation *compilation,
                                                                  uint32_t index, uint32_t *padding);

/* -- executions: arguments, settings, then a run; those that are reusable run any number of times -------------------- */
int ANeuralNetworksExecution_create(ANeuralNetworksCompilation *compilation, ANeuralNetworksExecution **execution);
void ANeuralNetworksExecution_free(ANeuralNetworksExecution *execution);

/* type: the shape, where the model leaves it open; else NULL. NULL and 0 for the buffer: the argument is omitted. */
int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution *execution, int32_t index,
                                      const ANeuralNetworksOperandType *type, const void *buffer, size_t length);
int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution *execution, int32_t index,
                                                const ANeuralNetworksOperandType *type,
                                                const ANeuralNetworksMemory *memory, size_t offset, size_t length);
int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution *execution, int32_t index,
                                       const ANeuralNetworksOperandType *type, void *buffer, size_t length);
int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution *execution, int32_t index,
                                                 const ANeuralNetworksOperandType *type,
                                                 const ANeuralNetworksMemory *memory, size_t offset, size_t length);
int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution *execution, bool reusable);

/* Lets lengths be larger than the values; comes before the arguments. */
int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution *execution, bool enable);

/* For compilations that were created for one device; nanoseconds of a run. */
int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution *execution, bool measure);
int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution *execution, uint64_t duration);

/* Nanoseconds that each WHILE may take. */
int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution *execution, uint64_t duration);

int ANeuralNetworksExecution_compute(ANeuralNetworksExecution *execution);

/* In the background; the result comes from the event. */
int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution *execution, ANeuralNetworksEvent **event);

/* Behind other events. duration: nanoseconds from when the last one has ended, or 0. */
int ANeuralNetworksExecution_startComputeWithDependencies(ANeuralNetworksExecution *execution,
                                                          const ANeuralNetworksEvent *const *dependencies,
                                                          uint32_t num_dependencies, uint64_t duration,
                                                          ANeuralNetworksEvent **event);
int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst);

/* What the outputs were, or should have been if their places were too small. */
int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution *execution, int32_t index, uint32_t *rank);
int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution *execution, int32_t index,
                                                        uint32_t *dimensions);

/* Nanoseconds; UINT64_MAX where they are not known. durationCode: of DurationCode. */
int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution *execution, int32_t durationCode,
                                         uint64_t *duration);

/* -- bursts ---------------------------------------------------------------------------------------------------------- */
int ANeuralNetworksBurst_create(ANeuralNetworksCompilation *compilation, ANeuralNetworksBurst **burst);
void ANeuralNetworksBurst_free(ANeuralNetworksBurst *burst);

/* -- events ---------------------------------------------------------------------------------------------------------- */
/* The result of the run; any number of threads may wait, any number of times. */
int ANeuralNetworksEvent_wait(ANeuralNetworksEvent *event);
/* Waits before it frees. */
void ANeuralNetworksEvent_free(ANeuralNetworksEvent *event);

/* An event of a sync fence, which is duplicated: something that polls readable once it has happened. */
int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent **event);
/* A duplicate of the event's fence, which the caller closes; BAD_DATA if it has none. */
int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent *event, int *sync_fence_fd);

#ifdef __cplusplus
}
#endif
#endif
