/* Memory descriptors: what a memory of the device will be used for. */
#ifndef NDK_DESC_H
#define NDK_DESC_H

#include "compilation.h"

struct ndk_role {
    const ANeuralNetworksCompilation *compilation;
    bool is_input;
    uint32_t index;
};

/* operand: of the first role, whose type and quantization all share; dims: those of all roles and of setDimensions
 * together, none while no one has told any. */
struct ANeuralNetworksMemoryDesc {
    bool is_finished;
    struct ndk_role *roles;
    uint32_t role_count, role_room;
    const struct ndk_operand *operand;
    uint32_t rank, *dims;
};

/* Whether dimensions can be those of one value: 0 joins any extent, rank 0 any shape. */
bool ndk_can_join(uint32_t rank, const uint32_t *dims, uint32_t other_rank, const uint32_t *other);

/* Whether two operands have the same type, scale, zero point and scales of channels. */
bool ndk_is_alike(const struct ndk_operand *one, const struct ndk_operand *other);

#endif
