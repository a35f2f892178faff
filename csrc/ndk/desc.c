/* Memory descriptors, and how they become memories. */
#define _GNU_SOURCE
#include "desc.h"

#include <stdlib.h>
#include <string.h>

bool ndk_can_join(uint32_t rank, const uint32_t *dims, uint32_t other_rank, const uint32_t *other)
{
    if (!rank || !other_rank)
        return true;
    if (rank != other_rank)
        return false;
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i] && other[i] && dims[i] != other[i])
            return false;
    return true;
}

bool ndk_is_alike(const struct ndk_operand *one, const struct ndk_operand *other)
{
    return one->type == other->type && one->scale == other->scale && one->zero_point == other->zero_point &&
           one->has_scales == other->has_scales && one->channel_dim == other->channel_dim &&
           one->channel_count == other->channel_count &&
           (!one->channel_count ||
            !memcmp(one->channel_scales, other->channel_scales, one->channel_count * sizeof *one->channel_scales));
}

static bool is_scalar(const struct ndk_operand *operand)
{
    size_t size;
    bool is_tensor;
    return !ndk_type(operand->type, &size, &is_tensor) && !is_tensor;
}

int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc **desc)
{
    if (!desc)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    ANeuralNetworksMemoryDesc *made = calloc(1, sizeof *made);
    if (!made)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    *desc = made;
    return ANEURALNETWORKS_NO_ERROR;
}

void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc *desc)
{
    if (!desc)
        return;
    free(desc->roles);
    free(desc->dims);
    free(desc);
}

/* Merges dimensions that can join into those of the descriptor. */
static int merge(ANeuralNetworksMemoryDesc *desc, uint32_t rank, const uint32_t *dims)
{
    if (!rank)
        return ANEURALNETWORKS_NO_ERROR;
    if (!desc->rank) {
        desc->dims = calloc(rank, sizeof *dims);
        if (!desc->dims)
            return ANEURALNETWORKS_OUT_OF_MEMORY;
        desc->rank = rank;
    }
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i])
            desc->dims[i] = dims[i];
    return ANEURALNETWORKS_NO_ERROR;
}

static int add_role(ANeuralNetworksMemoryDesc *desc, const ANeuralNetworksCompilation *compilation, bool is_input,
                    uint32_t index, float frequency)
{
    if (!desc || !compilation)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (desc->is_finished)
        return ANEURALNETWORKS_BAD_STATE;
    for (uint32_t i = 0; i < desc->role_count; i++)
        if (desc->roles[i].compilation == compilation && desc->roles[i].is_input == is_input &&
            desc->roles[i].index == index)
            return ANEURALNETWORKS_BAD_DATA;
    const ANeuralNetworksModel *model = compilation->model;
    if (compilation->state != NDK_READY || index >= (is_input ? model->input_count : model->output_count))
        return ANEURALNETWORKS_BAD_DATA;
    const struct ndk_operand *operand = &model->operands[is_input ? model->inputs[index] : model->outputs[index]];
    if ((desc->operand && !ndk_is_alike(desc->operand, operand)) || (is_scalar(operand) && desc->rank) ||
        !ndk_can_join(desc->rank, desc->dims, operand->rank, operand->dims) || !(frequency > 0 && frequency <= 1))
        return ANEURALNETWORKS_BAD_DATA;
    if (desc->role_count == desc->role_room) {
        uint32_t room = desc->role_room ? 2 * desc->role_room : 4;
        struct ndk_role *roles = realloc(desc->roles, room * sizeof *roles);
        if (!roles)
            return ANEURALNETWORKS_OUT_OF_MEMORY;
        desc->roles = roles;
        desc->role_room = room;
    }
    int code = merge(desc, operand->rank, operand->dims);
    if (code)
        return code;
    desc->operand = operand;
    desc->roles[desc->role_count++] = (struct ndk_role){compilation, is_input, index};
    return code;
}

int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc *desc,
                                           const ANeuralNetworksCompilation *compilation, uint32_t index,
                                           float frequency)
{
    return add_role(desc, compilation, true, index, frequency);
}

int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc *desc,
                                            const ANeuralNetworksCompilation *compilation, uint32_t index,
                                            float frequency)
{
    return add_role(desc, compilation, false, index, frequency);
}

int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc *desc, uint32_t rank, const uint32_t *dimensions)
{
    if (!desc || (!dimensions && rank))
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (desc->is_finished)
        return ANEURALNETWORKS_BAD_STATE;
    if ((rank && desc->operand && is_scalar(desc->operand)) || !ndk_can_join(desc->rank, desc->dims, rank, dimensions))
        return ANEURALNETWORKS_BAD_DATA;
    return merge(desc, rank, dimensions);
}

int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc *desc)
{
    if (!desc)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (desc->is_finished)
        return ANEURALNETWORKS_BAD_STATE;
    if (!desc->role_count)
        return ANEURALNETWORKS_BAD_DATA;
    desc->is_finished = true;
    return ANEURALNETWORKS_NO_ERROR;
}
