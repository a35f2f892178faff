/* Models as the library keeps them. */
#ifndef NDK_MODEL_H
#define NDK_MODEL_H

#include <pthread.h>
#include <stdatomic.h>

#include "memory.h"
#include "object.h"
#include "session.h"

/* Where the value of an operand comes from: the numbers of [NN 1.3]. A constant in a memory is copied at the end. */
enum ndk_lifetime {
    NDK_TEMPORARY = 0,
    NDK_INPUT = 1,
    NDK_OUTPUT = 2,
    NDK_CONSTANT = 3,
    NDK_OMITTED = 5,
    NDK_SUBGRAPH = 6,
};

/* data: of a constant, `size` bytes: own, or of the finished model's mapping; NULL while it lies in `memory`, from
 * `offset` on. parameters: of a type of an extension. has_scales: scales along channel_dim were set. */
struct ndk_operand {
    int32_t type;
    uint32_t rank, *dims;
    float scale;
    int32_t zero_point;
    enum ndk_lifetime lifetime;
    uint8_t *data;
    size_t size, offset;
    const ANeuralNetworksMemory *memory;
    const ANeuralNetworksModel *model;
    bool has_scales;
    uint32_t channel_dim, channel_count;
    float *channel_scales;
    uint8_t *parameters;
    size_t parameters_size;
};

struct ndk_operation {
    int32_t type;
    uint32_t input_count, output_count, *inputs, *outputs;
};

enum ndk_state { NDK_OPEN, NDK_READY, NDK_FAILED };

/* order: the operations in an order in which they can run. supported: of each operation, whether the device runs it, or
 * NULL while that is not known. fd: the model as the driver takes it, mapped at `map`.
 * prepared: what the driver has made of it (prepared.h). lock: of prepared. */
struct ANeuralNetworksModel {
    enum ndk_state state;
    bool relaxed, is_identified;
    struct ndk_operand *operands;
    struct ndk_operation *operations;
    uint32_t operand_count, operand_room, operation_count, operation_room, input_count, output_count;
    uint32_t *inputs, *outputs, *order;
    bool *supported;
    int fd;
    uint8_t *map;
    size_t map_size;
    pthread_mutex_t lock;
    struct ndk_prepared *prepared;
};

/* -- types.c --------------------------------------------------------------------------------------------------------- */
/* Prefix of the code of an extension's type or operation; 0 for those of the standard. */
uint16_t ndk_prefix(int32_t code);

/* The prefix of an extension in this process, which is given at the first question; 0 if there are no more. */
uint16_t ndk_prefix_of(const char *name);

/* The name of the extension with a prefix, NULL if no extension was given it. */
const char *ndk_extension_name(uint16_t prefix);

/* What a type is: bytes of a scalar or element, and whether it has dimensions. BAD_DATA for unknown ones. */
int ndk_type(int32_t type, size_t *size, bool *is_tensor);

/* Checks the type of an operand as addOperand and setInput do. */
int ndk_check_type(const ANeuralNetworksOperandType *type);

/* Bytes of a value, 0 while extents are unknown; UINT64_MAX if there are more than 2^32 - 1. */
uint64_t ndk_bytes(int32_t type, uint32_t rank, const uint32_t *dims);

/* numpy's name of the elements of a type: values of extensions are a row of bytes. */
const char *ndk_dtype(int32_t type);

/* -- order.c --------------------------------------------------------------------------------------------------------- */
/* Finds an order in which every operation finds what it reads, the given one where that will do. BAD_DATA for a cycle,
 * and for an operand that nobody, or that two operations write. */
int ndk_order(ANeuralNetworksModel *model);

/* -- pack.c ---------------------------------------------------------------------------------------------------------- */
/* The model in a sealed memfd [docs/protocol.md, Models]; with its mapping, where the constants of its operands are from
 * then on. */
int ndk_pack(ANeuralNetworksModel *model);

/* Whether an operation is right for its operands as they are declared: the driver's answer. */
int ndk_check_operation(const ANeuralNetworksModel *model, const struct ndk_operation *operation);

/* Whether a packed model is valid: the driver's answer. */
int ndk_check_model(ANeuralNetworksModel *model);

/* Which operations of a packed model the device runs, in the order of addOperation; the code of a driver that does not
 * say, BAD_DATA for a model that is not valid. where: for the log. */
int ndk_ask_supported(const ANeuralNetworksModel *model, const char *where, bool *supported);

/* Whether some part of the model has no meaning but to a vendor: OEM types and operations, and those of extensions. */
bool ndk_has_foreign_parts(const ANeuralNetworksModel *model);

#endif
