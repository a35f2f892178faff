/* Models. */
#define _GNU_SOURCE
#include "model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "prepared.h"

enum { OEM_OPERATION = 10000, OEM_SCALAR = 10000 };

/* A copy of `count` elements; *failed if there is no memory. NULL for none. */
static void *copied(const void *elements, size_t count, size_t size, bool *failed)
{
    void *copy = count ? malloc(count * size) : NULL;
    if (copy)
        memcpy(copy, elements, count * size);
    *failed |= count && !copy;
    return copy;
}

/* Room for one more element in a list. */
static bool grow(void **list, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room)
        return true;
    uint32_t more = *room ? *room + *room / 2 : 16;
    void *larger = more > *room ? realloc(*list, (size_t)more * size) : NULL;
    if (!larger)
        return false;
    *list = larger;
    *room = more;
    return true;
}

int ANeuralNetworksModel_create(ANeuralNetworksModel **model)
{
    if (!model)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *model = calloc(1, sizeof **model);
    if (!*model)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    (*model)->fd = -1;
    pthread_mutex_init(&(*model)->lock, NULL);
    return ANEURALNETWORKS_NO_ERROR;
}

static void free_value(struct ndk_operand *operand, bool is_mapped)
{
    if (!is_mapped)
        free(operand->data);
    operand->data = NULL;
    operand->memory = NULL;
    operand->model = NULL;
    operand->size = operand->offset = 0;
}

void ANeuralNetworksModel_free(ANeuralNetworksModel *model)
{
    if (!model)
        return;
    ndk_prepared_forget(model);
    pthread_mutex_destroy(&model->lock);
    for (uint32_t i = 0; i < model->operand_count; i++) {
        struct ndk_operand *operand = &model->operands[i];
        free_value(operand, model->map != NULL);
        free(operand->dims);
        free(operand->channel_scales);
        free(operand->parameters);
    }
    for (uint32_t i = 0; i < model->operation_count; i++) {
        free(model->operations[i].inputs);
        free(model->operations[i].outputs);
    }
    if (model->map)
        munmap(model->map, model->map_size);
    if (model->fd >= 0)
        close(model->fd);
    free(model->operands);
    free(model->operations);
    free(model->inputs);
    free(model->outputs);
    free(model->order);
    free(model->supported);
    free(model);
}

/* -- operands -------------------------------------------------------------------------------------------------------- */
int ANeuralNetworksModel_addOperand(ANeuralNetworksModel *model, const ANeuralNetworksOperandType *type)
{
    if (!model || !type)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (model->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    int code = ndk_check_type(type);
    if (code)
        return code;
    bool failed = false;
    uint32_t *dims = copied(type->dimensions, type->dimensionCount, sizeof *dims, &failed);
    if (failed || !grow((void **)&model->operands, model->operand_count, &model->operand_room,
                        sizeof *model->operands)) {
        free(dims);
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    }
    model->operands[model->operand_count++] = (struct ndk_operand){
        .type = type->type, .rank = type->dimensionCount, .dims = dims, .scale = type->scale,
        .zero_point = type->zeroPoint};
    return ANEURALNETWORKS_NO_ERROR;
}

/* The operand of an index in a model that can still be changed. */
static int open_operand(ANeuralNetworksModel *model, int32_t index, struct ndk_operand **operand)
{
    if (model->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    if ((uint32_t)index >= model->operand_count)
        return ANEURALNETWORKS_BAD_DATA;
    *operand = &model->operands[index];
    return ANEURALNETWORKS_NO_ERROR;
}

/* Whether a constant of this length fits an operand. */
static bool has_size(const struct ndk_operand *operand, size_t length)
{
    if (operand->type == OEM_SCALAR)
        return length <= UINT32_MAX;
    uint64_t size = ndk_bytes(operand->type, operand->rank, operand->dims);
    return size && size == length;
}

int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel *model, int32_t index, const void *buffer, size_t length)
{
    struct ndk_operand *operand;
    bool failed = false;
    if (!model || (!buffer && length))
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = open_operand(model, index, &operand);
    if (code)
        return code;
    if (buffer && (!length || !has_size(operand, length)))
        return ANEURALNETWORKS_BAD_DATA;
    uint8_t *data = copied(buffer, length, 1, &failed);
    if (failed)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    free_value(operand, false);
    operand->lifetime = buffer ? NDK_CONSTANT : NDK_OMITTED;
    operand->data = data;
    operand->size = length;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel *model, int32_t index,
                                                   const ANeuralNetworksMemory *memory, size_t offset, size_t length)
{
    struct ndk_operand *operand;
    if (!model || !memory)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = open_operand(model, index, &operand);
    if (code)
        return code;
    if (!has_size(operand, length))
        return ANEURALNETWORKS_BAD_DATA;
    code = ndk_memory_check(memory, offset, length);
    if (code)
        return code;
    free_value(operand, false);
    operand->lifetime = NDK_CONSTANT;
    operand->memory = memory;
    operand->offset = offset;
    operand->size = length;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel *model, int32_t index,
                                                  const ANeuralNetworksModel *value)
{
    struct ndk_operand *operand;
    if (!model || !value)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (model->state != NDK_OPEN || value->state != NDK_READY)
        return ANEURALNETWORKS_BAD_STATE;
    int code = open_operand(model, index, &operand);
    if (code)
        return code;
    free_value(operand, false);
    operand->lifetime = NDK_SUBGRAPH;
    operand->model = value;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel *model, int32_t index, const ANeuralNetworksSymmPerChannelQuantParams *channelQuant)
{
    struct ndk_operand *operand;
    bool failed = false;
    if (!model || !channelQuant)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = open_operand(model, index, &operand);
    if (code)
        return code;
    uint32_t dim = channelQuant->channelDim, count = channelQuant->scaleCount;
    if (!channelQuant->scales || !count || operand->type != ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL ||
        dim >= operand->rank || operand->dims[dim] != count)
        return ANEURALNETWORKS_BAD_DATA;
    for (uint32_t i = 0; i < count; i++)
        if (!(channelQuant->scales[i] > 0))
            return ANEURALNETWORKS_BAD_DATA;
    float *scales = copied(channelQuant->scales, count, sizeof *scales, &failed);
    if (failed)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    free(operand->channel_scales);
    operand->has_scales = true;
    operand->channel_dim = dim;
    operand->channel_count = count;
    operand->channel_scales = scales;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_setOperandExtensionData(ANeuralNetworksModel *model, int32_t index, const void *data,
                                                 size_t length)
{
    struct ndk_operand *operand;
    bool failed = false;
    if (!model || (!data && length))
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = open_operand(model, index, &operand);
    if (code)
        return code;
    if (!ndk_prefix(operand->type) || (data && !length))
        return ANEURALNETWORKS_BAD_DATA;
    uint8_t *parameters = copied(data, length, 1, &failed);
    if (failed)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    free(operand->parameters);
    operand->parameters = parameters;
    operand->parameters_size = length;
    return ANEURALNETWORKS_NO_ERROR;
}

/* -- extensions ------------------------------------------------------------------------------------------------------ */
static int extension_code(const ANeuralNetworksModel *model, const char *name, uint16_t code, int32_t *result)
{
    if (!model || !name || !result)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    uint32_t prefix = ndk_prefix_of(name);
    if (!prefix)
        return ANEURALNETWORKS_BAD_DATA;
    uint32_t value = prefix << 16 | code;
    memcpy(result, &value, sizeof value);
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_getExtensionOperandType(ANeuralNetworksModel *model, const char *extensionName,
                                                 uint16_t operandCodeWithinExtension, int32_t *type)
{
    return extension_code(model, extensionName, operandCodeWithinExtension, type);
}

int ANeuralNetworksModel_getExtensionOperationType(ANeuralNetworksModel *model, const char *extensionName,
                                                   uint16_t operationCodeWithinExtension,
                                                   ANeuralNetworksOperationType *type)
{
    return extension_code(model, extensionName, operationCodeWithinExtension, type);
}

/* -- operations ------------------------------------------------------------------------------------------------------ */
static bool are_operands(const ANeuralNetworksModel *model, const uint32_t *indexes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (indexes[i] >= model->operand_count)
            return false;
    return true;
}

static bool is_operation(int32_t type)
{
    if (ndk_prefix(type))
        return ndk_extension_name(ndk_prefix(type)) != NULL;
    return (type >= 0 && type <= ANEURALNETWORKS_REVERSE) || type == OEM_OPERATION;
}

/* What the standard says of IF and WHILE before the driver can be asked: model operands have values. */
static bool has_models(const ANeuralNetworksModel *model, const uint32_t *inputs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct ndk_operand *operand = &model->operands[inputs[i]];
        if ((operand->type == ANEURALNETWORKS_MODEL) != (operand->lifetime == NDK_SUBGRAPH))
            return false;
    }
    return true;
}

int ANeuralNetworksModel_addOperation(ANeuralNetworksModel *model, ANeuralNetworksOperationType type,
                                      uint32_t inputCount, const uint32_t *inputs, uint32_t outputCount,
                                      const uint32_t *outputs)
{
    bool failed = false;
    if (!model || !inputs || !outputs)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (model->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    if (!is_operation(type) || !inputCount || !outputCount || !are_operands(model, inputs, inputCount) ||
        !are_operands(model, outputs, outputCount))
        return ANEURALNETWORKS_BAD_DATA;
    /* One of the standard has no more than a few arguments, or as many as a list of tensors; each costs the driver. */
    if (!ndk_prefix(type) && type != OEM_OPERATION &&
        (!has_models(model, inputs, inputCount) || inputCount > UINT16_MAX || outputCount > UINT16_MAX))
        return ANEURALNETWORKS_BAD_DATA;
    struct ndk_operation operation = {
        type, inputCount, outputCount, copied(inputs, inputCount, sizeof *inputs, &failed),
        copied(outputs, outputCount, sizeof *outputs, &failed)};
    int code = failed ? ANEURALNETWORKS_OUT_OF_MEMORY : ANEURALNETWORKS_NO_ERROR;
    if (!code && !ndk_prefix(type) && type != OEM_OPERATION)
        code = ndk_check_operation(model, &operation);
    if (!code && !grow((void **)&model->operations, model->operation_count, &model->operation_room,
                       sizeof *model->operations))
        code = ANEURALNETWORKS_OUT_OF_MEMORY;
    if (code) {
        free(operation.inputs);
        free(operation.outputs);
    } else {
        model->operations[model->operation_count++] = operation;
    }
    return code;
}

/* Marks operands as inputs or outputs; false for one that is something else already. */
static bool mark(ANeuralNetworksModel *model, const uint32_t *indexes, uint32_t count, enum ndk_lifetime lifetime,
                 uint32_t *done)
{
    for (uint32_t i = 0; i < count; i++, ++*done) {
        if (model->operands[indexes[i]].lifetime != NDK_TEMPORARY)
            return false;
        model->operands[indexes[i]].lifetime = lifetime;
    }
    return true;
}

int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel *model, uint32_t inputCount,
                                                  const uint32_t *inputs, uint32_t outputCount,
                                                  const uint32_t *outputs)
{
    if (!model || !inputs || !outputs)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (model->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    if (model->is_identified || !inputCount || !outputCount || !are_operands(model, inputs, inputCount) ||
        !are_operands(model, outputs, outputCount))
        return ANEURALNETWORKS_BAD_DATA;
    bool failed = false;
    uint32_t *ins = copied(inputs, inputCount, sizeof *ins, &failed), done_in = 0, done_out = 0;
    uint32_t *outs = copied(outputs, outputCount, sizeof *outs, &failed);
    if (!failed && mark(model, inputs, inputCount, NDK_INPUT, &done_in) &&
        mark(model, outputs, outputCount, NDK_OUTPUT, &done_out)) {
        model->inputs = ins;
        model->outputs = outs;
        model->input_count = inputCount;
        model->output_count = outputCount;
        model->is_identified = true;
        return ANEURALNETWORKS_NO_ERROR;
    }
    while (done_in)
        model->operands[inputs[--done_in]].lifetime = NDK_TEMPORARY;
    while (done_out)
        model->operands[outputs[--done_out]].lifetime = NDK_TEMPORARY;
    free(ins);
    free(outs);
    return failed ? ANEURALNETWORKS_OUT_OF_MEMORY : ANEURALNETWORKS_BAD_DATA;
}

int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel *model, bool allow)
{
    if (!model)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (model->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    model->relaxed = allow;
    return ANEURALNETWORKS_NO_ERROR;
}

/* -- the end --------------------------------------------------------------------------------------------------------- */
static int finish(ANeuralNetworksModel *model)
{
    if (!model->operand_count || !model->operation_count)
        return ANEURALNETWORKS_BAD_DATA;
    for (uint32_t i = 0; i < model->operation_count; i++)
        if (ndk_prefix(model->operations[i].type)) {
            struct ndk_session *session;
            int code = ndk_session(&session);
            if (code)
                return code;
            bool is_known = ndk_session_extension(session, ndk_extension_name(ndk_prefix(model->operations[i].type)));
            ndk_session_unref(session);
            if (!is_known)
                return ANEURALNETWORKS_BAD_DATA;
        }
    int code = ndk_order(model);
    if (!code)
        code = ndk_pack(model);
    if (code == ANEURALNETWORKS_UNMAPPABLE) /* constants in a memory that has no bytes there */
        code = ANEURALNETWORKS_BAD_DATA;
    return code ? code : ndk_check_model(model);
}

int ANeuralNetworksModel_finish(ANeuralNetworksModel *model)
{
    if (!model)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (model->state != NDK_OPEN)
        return ANEURALNETWORKS_BAD_STATE;
    int code = finish(model);
    if (code != ANEURALNETWORKS_OUT_OF_MEMORY || model->map) {
        model->state = code ? NDK_FAILED : NDK_READY;
    } else {
        free(model->order);
        model->order = NULL;
    }
    return code;
}

int ANeuralNetworksModel_getSupportedOperationsForDevices(const ANeuralNetworksModel *model,
                                                          const ANeuralNetworksDevice *const *devices,
                                                          uint32_t numDevices, bool *supportedOps)
{
    if (!model || !devices || !supportedOps)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (!numDevices)
        return ANEURALNETWORKS_BAD_DATA;
    if (model->state != NDK_READY)
        return ANEURALNETWORKS_BAD_STATE;
    int code = ndk_check_devices(devices, numDevices);
    if (code)
        return code;
    /* A device whose query fails supports nothing. */
    for (uint32_t i = 0; i < model->operation_count; i++)
        supportedOps[i] = model->supported && model->supported[i];
    if (!model->supported)
        ndk_ask_supported(model, "getSupportedOperations", supportedOps);
    return ANEURALNETWORKS_NO_ERROR;
}
