/* Models as the driver takes them [docs/protocol.md, Models], and its opinion of them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model.h"
#include "opinions.h"

enum { START_BYTES = 24, SMALL_BYTES = 1 << 16 };

struct constant {
    const struct ndk_operand *operand;
    size_t offset;
};

/* What is being packed. models: those that others refer to, in the order of their numbers. end: of the constants.
 * hides_extents: sizes are 1, where they are known. */
struct packing {
    struct ndk_buffer header;
    struct constant *constants;
    size_t constant_count, constant_room, end;
    const ANeuralNetworksModel **models;
    size_t model_count, model_room;
    uint32_t prefixes[(1 << 16) / 32];
    bool has_prefixes, failed, hides_extents;
};

static size_t aligned(size_t size)
{
    return (size + NDK_LINE - 1) / NDK_LINE * NDK_LINE;
}

static void *grown(void *list, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return list;
    size_t more = *room ? 2 * *room : 16;
    void *larger = realloc(list, more * size);
    if (larger)
        *room = more;
    return larger;
}

/* -- what is referred to --------------------------------------------------------------------------------------------- */
static size_t number_of(const struct packing *p, const ANeuralNetworksModel *model)
{
    size_t i = 0;
    while (i < p->model_count && p->models[i] != model)
        i++;
    return i;
}

static void collect_operand(struct packing *p, const struct ndk_operand *operand)
{
    if (operand->lifetime != NDK_SUBGRAPH || number_of(p, operand->model) < p->model_count)
        return;
    const ANeuralNetworksModel **models = grown(p->models, p->model_count, &p->model_room, sizeof *models);
    if (!models) {
        p->failed = true;
        return;
    }
    p->models = models;
    p->models[p->model_count++] = operand->model;
}

/* Adds what the models in the list refer to, and what that refers to. */
static void collect_rest(struct packing *p)
{
    for (size_t i = 0; i < p->model_count && !p->failed; i++)
        for (uint32_t k = 0; k < p->models[i]->operand_count; k++)
            collect_operand(p, &p->models[i]->operands[k]);
}

static void note_prefix(struct packing *p, int32_t code)
{
    uint16_t prefix = ndk_prefix(code);
    if (prefix) {
        p->prefixes[prefix / 32] |= UINT32_C(1) << prefix % 32;
        p->has_prefixes = true;
    }
}

/* -- the header ------------------------------------------------------------------------------------------------------ */
static void put_indexes(struct packing *p, const uint32_t *indexes, size_t count)
{
    ndk_put_array(&p->header, count);
    for (size_t i = 0; i < count; i++)
        ndk_put_int(&p->header, indexes[i]);
}

/* A code of the standard as it is, one of an extension as a number without a sign. */
static void put_code(struct packing *p, int32_t code)
{
    note_prefix(p, code);
    ndk_put_int(&p->header, ndk_prefix(code) ? (int64_t)(uint32_t)code : code);
}

static void put_data(struct packing *p, const struct ndk_operand *operand)
{
    size_t offset = p->end;
    bool is_row = ndk_prefix(operand->type) || operand->type > ANEURALNETWORKS_MODEL;
    struct constant *constants = grown(p->constants, p->constant_count, &p->constant_room, sizeof *constants);
    if (!constants) {
        p->failed = true;
        return;
    }
    p->constants = constants;
    p->constants[p->constant_count++] = (struct constant){operand, offset};
    p->end += aligned(operand->size);
    ndk_put_array(&p->header, 3);
    ndk_put_int(&p->header, (int64_t)offset);
    ndk_put_text(&p->header, ndk_dtype(operand->type));
    ndk_put_array(&p->header, is_row ? 1 : operand->rank);
    if (is_row)
        ndk_put_int(&p->header, (int64_t)operand->size);
    else
        for (uint32_t i = 0; i < operand->rank; i++)
            ndk_put_int(&p->header, operand->dims[i]);
}

static void put_operand(struct packing *p, const struct ndk_operand *operand, enum ndk_lifetime lifetime)
{
    struct ndk_buffer *header = &p->header;
    ndk_put_array(header, 11);
    put_code(p, operand->type);
    ndk_put_array(header, operand->rank);
    for (uint32_t i = 0; i < operand->rank; i++)
        ndk_put_int(header, p->hides_extents && !operand->has_scales ? operand->dims[i] > 0 : operand->dims[i]);
    ndk_put_double(header, (double)operand->scale);
    ndk_put_int(header, operand->zero_point);
    ndk_put_int(header, lifetime);
    if (operand->has_scales) {
        ndk_put_int(header, operand->channel_dim);
        ndk_put_array(header, operand->channel_count);
        for (uint32_t i = 0; i < operand->channel_count; i++)
            ndk_put_double(header, (double)operand->channel_scales[i]);
    } else {
        ndk_put_nil(header);
        ndk_put_nil(header);
    }
    if (lifetime == NDK_CONSTANT)
        put_data(p, operand);
    else
        ndk_put_nil(header);
    ndk_put_text(header, "");
    if (lifetime == NDK_SUBGRAPH)
        ndk_put_int(header, (int64_t)number_of(p, operand->model));
    else
        ndk_put_nil(header);
    if (operand->parameters)
        ndk_put_bytes(header, operand->parameters, operand->parameters_size);
    else
        ndk_put_nil(header);
}

static void put_operation(struct packing *p, const struct ndk_operation *operation)
{
    ndk_put_array(&p->header, 3);
    put_code(p, operation->type);
    put_indexes(p, operation->inputs, operation->input_count);
    put_indexes(p, operation->outputs, operation->output_count);
}

static void put_graph(struct packing *p, const ANeuralNetworksModel *model)
{
    ndk_put_array(&p->header, 4);
    ndk_put_array(&p->header, model->operand_count);
    for (uint32_t i = 0; i < model->operand_count; i++)
        put_operand(p, &model->operands[i], model->operands[i].lifetime);
    ndk_put_array(&p->header, model->operation_count);
    for (uint32_t i = 0; i < model->operation_count; i++)
        put_operation(p, &model->operations[model->order[i]]);
    put_indexes(p, model->inputs, model->input_count);
    put_indexes(p, model->outputs, model->output_count);
}

/* A graph of one operation alone. Each argument is an operand of its own, whatever else the model does with it; values
 * of constants are not part of the question. */
static void put_alone(struct packing *p, const ANeuralNetworksModel *model, const struct ndk_operation *operation)
{
    uint32_t inputs = operation->input_count, outputs = operation->output_count, given = 0, place = 0;
    struct ndk_buffer *header = &p->header;
    ndk_put_array(header, 4);
    ndk_put_array(header, (size_t)inputs + outputs);
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        struct ndk_operand operand =
            model->operands[i < inputs ? operation->inputs[i] : operation->outputs[i - inputs]];
        bool is_kept = operand.lifetime == NDK_OMITTED || operand.lifetime == NDK_SUBGRAPH;
        if (operand.type == ANEURALNETWORKS_TENSOR_INT32 && (!(operand.scale >= 0) || operand.zero_point)) {
            operand.scale = 0; /* found by Model_finish, not here */
            operand.zero_point = 0;
        }
        put_operand(p, &operand, i >= inputs ? NDK_OUTPUT : is_kept ? operand.lifetime : NDK_INPUT);
        given += i < inputs && !is_kept;
    }
    ndk_put_array(header, 1);
    ndk_put_array(header, 3);
    put_code(p, operation->type);
    ndk_put_array(header, inputs);
    while (place < inputs)
        ndk_put_int(header, place++);
    ndk_put_array(header, outputs);
    while (place < inputs + outputs)
        ndk_put_int(header, place++);
    ndk_put_array(header, given);
    for (uint32_t i = 0; i < inputs; i++) {
        enum ndk_lifetime lifetime = model->operands[operation->inputs[i]].lifetime;
        if (lifetime != NDK_OMITTED && lifetime != NDK_SUBGRAPH)
            ndk_put_int(header, i);
    }
    ndk_put_array(header, outputs);
    for (uint32_t i = 0; i < outputs; i++)
        ndk_put_int(header, inputs + i);
}

static void put_rest(struct packing *p, bool relaxed)
{
    struct ndk_buffer *header = &p->header;
    size_t extensions = 0;
    ndk_put_array(header, p->model_count);
    for (size_t i = 0; i < p->model_count; i++)
        put_graph(p, p->models[i]);
    ndk_put_bool(header, relaxed);
    ndk_put_array(header, 0); /* states */
    ndk_put_text(header, ""); /* name */
    for (uint32_t prefix = 1; prefix < 1 << 16 && p->has_prefixes; prefix++)
        extensions += p->prefixes[prefix / 32] >> prefix % 32 & 1;
    ndk_put_array(header, extensions);
    for (uint32_t prefix = 1; prefix < 1 << 16 && extensions; prefix++)
        if (p->prefixes[prefix / 32] >> prefix % 32 & 1) {
            ndk_put_array(header, 2);
            ndk_put_text(header, ndk_extension_name((uint16_t)prefix));
            ndk_put_int(header, prefix);
        }
    ndk_put_text(header, "nnapi");
    ndk_put_array(header, 0); /* signatures */
}

/* -- the memory ------------------------------------------------------------------------------------------------------ */
static void put_little(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static int fill(const struct packing *p, uint8_t *map, size_t size)
{
    size_t first = aligned(START_BYTES + p->header.size);
    memcpy(map, NDK_MODEL_MAGIC, 8);
    put_little(map + 8, p->header.size);
    put_little(map + 16, size);
    memcpy(map + START_BYTES, p->header.data, p->header.size);
    for (size_t i = 0; i < p->constant_count; i++) {
        const struct ndk_operand *operand = p->constants[i].operand;
        uint8_t *at = map + first + p->constants[i].offset;
        int code = ANEURALNETWORKS_NO_ERROR;
        if (operand->data)
            memcpy(at, operand->data, operand->size);
        else
            code = ndk_memory_read(operand->memory, operand->offset, at, operand->size);
        if (code)
            return code;
    }
    return ANEURALNETWORKS_NO_ERROR;
}

/* A sealed memfd with all that was put. */
static int seal(const struct packing *p, int *fd, size_t *size)
{
    if (p->failed || p->header.failed)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    *size = aligned(START_BYTES + p->header.size) + p->end;
    *fd = ndk_memfd(*size);
    if (*fd < 0)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    uint8_t *map = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    int code = map == MAP_FAILED ? ANEURALNETWORKS_OUT_OF_MEMORY : fill(p, map, *size);
    if (map != MAP_FAILED)
        munmap(map, *size);
    if (!code && fcntl(*fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL))
        code = ANEURALNETWORKS_OUT_OF_MEMORY;
    if (code) {
        close(*fd);
        *fd = -1;
    }
    return code;
}

static void end_packing(struct packing *p)
{
    ndk_buffer_free(&p->header);
    free(p->constants);
    free(p->models);
    free(p);
}

int ndk_pack(ANeuralNetworksModel *model)
{
    struct packing *p = calloc(1, sizeof *p);
    if (!p)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < model->operand_count; i++)
        collect_operand(p, &model->operands[i]);
    collect_rest(p);
    ndk_put_array(&p->header, 8);
    put_graph(p, model);
    size_t size, own = p->constant_count;
    put_rest(p, model->relaxed);
    int fd, code = seal(p, &fd, &size);
    if (!code) {
        uint8_t *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED) {
            close(fd);
            code = ANEURALNETWORKS_OUT_OF_MEMORY;
        } else {
            model->fd = fd;
            model->map = map;
            model->map_size = size;
        }
    }
    for (size_t i = 0; i < own && !code; i++) {
        struct ndk_operand *operand = &model->operands[p->constants[i].operand - model->operands];
        free(operand->data);
        operand->data = model->map + aligned(START_BYTES + p->header.size) + p->constants[i].offset;
        operand->memory = NULL;
    }
    end_packing(p);
    return code;
}

/* -- the driver's opinion -------------------------------------------------------------------------------------------- */
static void read_unsupported(const ANeuralNetworksModel *model, struct ndk_reader *answer, bool *supported)
{
    for (uint32_t i = 0; i < model->operation_count; i++)
        supported[i] = true;
    for (size_t count = ndk_get_array(answer); count && !answer->failed; count--) {
        ndk_get_array(answer);
        int64_t index = ndk_get_int(answer);
        ndk_skip(answer);
        if (!answer->failed && index >= 0 && index < model->operation_count)
            supported[model->order[index]] = false;
    }
}

/* Asks the driver whether a model is valid or, given `supported`, which of its operations it takes. */
static int ask(const ANeuralNetworksModel *model, int fd, bool *supported, const char *where)
{
    struct ndk_session *session;
    struct ndk_connection *connection;
    struct ndk_buffer message = {0};
    struct ndk_reader answer;
    int code = ndk_session(&session);
    if (code)
        return code;
    code = ndk_take(session, &connection);
    if (!code) {
        ndk_put_array(&message, supported ? 1 : 2);
        ndk_put_int(&message, supported ? NDK_GET_UNSUPPORTED : NDK_CHECK);
        if (!supported)
            ndk_put_text(&message, "aidl3");
        code = ndk_call(connection, &message, fd, supported ? NDK_UNSUPPORTED : NDK_TEXT, &answer, where);
        if (!code && supported)
            read_unsupported(model, &answer, supported);
        ndk_buffer_free(&message);
        ndk_give(connection);
    }
    ndk_session_unref(session);
    return code;
}

int ndk_ask_supported(const ANeuralNetworksModel *model, const char *where, bool *supported)
{
    return ask(model, model->fd, supported, where);
}

/* The same question, with the answer kept: most programs that finish a model ask next what of it is supported. */
static int ask_all(ANeuralNetworksModel *model)
{
    bool *supported = malloc(model->operation_count * sizeof *supported);
    int code = supported ? ndk_ask_supported(model, "Model_finish", supported) : ANEURALNETWORKS_OUT_OF_MEMORY;
    if (code)
        free(supported);
    else
        model->supported = supported;
    return code;
}

/* Whether the rules of an operation that hold before its model is finished look at sizes of dimensions, and not only at
 * how many there are. Operations that differ in sizes alone are one question where they do not. */
static bool looks_at_extents(int32_t type)
{
    switch (type) {
    case ANEURALNETWORKS_CAST:
    case ANEURALNETWORKS_FULLY_CONNECTED:
    case ANEURALNETWORKS_IF:
    case ANEURALNETWORKS_LSH_PROJECTION:
    case ANEURALNETWORKS_MIRROR_PAD:
    case ANEURALNETWORKS_REVERSE:
    case ANEURALNETWORKS_WHILE: return true;
    default: return type < 0 || type > ANEURALNETWORKS_REVERSE;
    }
}

int ndk_check_operation(const ANeuralNetworksModel *model, const struct ndk_operation *operation)
{
    struct packing *p = calloc(1, sizeof *p);
    int fd;
    size_t size;
    if (!p)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < operation->input_count; i++)
        collect_operand(p, &model->operands[operation->inputs[i]]);
    collect_rest(p);
    p->hides_extents = !looks_at_extents(operation->type);
    ndk_put_array(&p->header, 8);
    put_alone(p, model, operation);
    put_rest(p, model->relaxed);
    bool is_form = !p->model_count && !p->has_prefixes && !p->failed && !p->header.failed;
    struct ndk_question question = ndk_question(p->header.data, is_form ? p->header.size : 0);
    int code = is_form ? ndk_opinion(question) : NDK_NO_OPINION;
    if (code == NDK_NO_OPINION) {
        code = seal(p, &fd, &size);
        if (!code) {
            code = ask(model, fd, NULL, "Model_addOperation");
            close(fd);
            if (is_form)
                ndk_keep_opinion(question, code);
        }
    }
    end_packing(p);
    return code;
}

int ndk_check_model(ANeuralNetworksModel *model)
{
    bool is_small = model->map_size <= SMALL_BYTES && !ndk_has_foreign_parts(model);
    struct ndk_question question = ndk_question(model->map, is_small ? model->map_size : 0);
    int code = is_small ? ndk_opinion(question) : NDK_NO_OPINION;
    if (code == NDK_NO_OPINION) {
        code = is_small ? ask_all(model) : ask(model, model->fd, NULL, "Model_finish");
        if (is_small)
            ndk_keep_opinion(question, code);
    }
    return code;
}

static bool is_foreign(const ANeuralNetworksModel *model)
{
    for (uint32_t i = 0; i < model->operand_count; i++)
        if (ndk_prefix(model->operands[i].type) || model->operands[i].type > ANEURALNETWORKS_MODEL)
            return true;
    for (uint32_t i = 0; i < model->operation_count; i++)
        if (ndk_prefix(model->operations[i].type) || model->operations[i].type > ANEURALNETWORKS_REVERSE)
            return true;
    return false;
}

bool ndk_has_foreign_parts(const ANeuralNetworksModel *model)
{
    struct packing *p = calloc(1, sizeof *p);
    bool found = is_foreign(model);
    for (uint32_t i = 0; p && i < model->operand_count; i++)
        collect_operand(p, &model->operands[i]);
    if (p)
        collect_rest(p);
    for (size_t i = 0; p && i < p->model_count; i++)
        found |= is_foreign(p->models[i]);
    if (p)
        end_packing(p);
    return found;
}
