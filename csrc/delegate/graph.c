#define _GNU_SOURCE
#include "graph.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flatbuffer.h"
#include "ndk/session.h"
#include "options.h"

enum { ALIGNMENT = 64, FILE_VERSION = 3, MOST_CODE = 127, NOT_THERE = -1, WRITE_BYTES = 1 << 30 };

/* Types of TFLite: their number in a file, and the bytes of an element (INT4: two of them). */
static const struct {
    int8_t number, bytes;
} types[] = {
    [TFL_FLOAT32] = {0, 4}, [TFL_FLOAT16] = {1, 2}, [TFL_INT32] = {2, 4}, [TFL_UINT8] = {3, 1}, [TFL_INT64] = {4, 8},
    [TFL_BOOL] = {6, 1}, [TFL_INT16] = {7, 2}, [TFL_COMPLEX64] = {8, 8}, [TFL_INT8] = {9, 1}, [TFL_FLOAT64] = {10, 8},
    [TFL_COMPLEX128] = {11, 16}, [TFL_UINT64] = {12, 8}, [TFL_UINT32] = {15, 4}, [TFL_UINT16] = {16, 2},
    [TFL_INT4] = {17, 1}, [TFL_BFLOAT16] = {18, 2},
};

size_t dlg_item_bytes(int type)
{
    return type > 0 && (size_t)type < sizeof types / sizeof *types ? (size_t)types[type].bytes : 0;
}

bool dlg_is_constant(const struct tfl_tensor *tensor)
{
    return tensor->allocation == TFL_CONSTANT;
}

bool dlg_is_sized(const struct tfl_tensor *tensor)
{
    if (tensor->allocation == TFL_DYNAMIC || !tensor->dims)
        return false;
    for (int i = 0; i < tensor->dims->size; i++)
        if (tensor->dims->data[i] < 1)
            return false;
    for (int i = 0; tensor->signature && i < tensor->signature->size; i++)
        if (tensor->signature->data[i] < 0)
            return false;
    return true;
}

struct tfl_ints *dlg_copy(const struct tfl_ints *ints)
{
    size_t count = ints ? (size_t)ints->size : 0;
    struct tfl_ints *copy = malloc(sizeof *copy + count * sizeof *copy->data);
    if (!copy)
        return NULL;
    copy->size = (int)count;
    if (count)
        memcpy(copy->data, ints->data, count * sizeof *copy->data);
    return copy;
}

bool dlg_is_same(const struct tfl_ints *one, const struct tfl_ints *other)
{
    return one && other && one->size == other->size &&
           (!one->size || !memcmp(one->data, other->data, (size_t)one->size * sizeof *one->data));
}

/* -- what may be taken ----------------------------------------------------------------------------------------------- */
static const char *refusal(const struct tfl_tensor *tensor)
{
    if (!dlg_item_bytes(tensor->type))
        return "has a tensor of a type that nnfast lacks";
    if (tensor->is_variable)
        return "keeps a variable";
    if (tensor->sparsity)
        return "has a sparse constant";
    if (tensor->quantization.type != TFL_UNQUANTIZED && tensor->quantization.type != TFL_AFFINE)
        return "has scales for blocks";
    if (dlg_is_constant(tensor) && (!tensor->dims || (tensor->bytes && !tensor->data)))
        return "has a constant whose values are not there";
    return NULL;
}

static const char *refusal_of(const struct tfl_context *context, const struct tfl_ints *tensors)
{
    const char *reason = NULL;
    for (int i = 0; !reason && i < tensors->size; i++)
        if (tensors->data[i] != TFL_OMITTED)
            reason = refusal(&context->tensors[tensors->data[i]]);
    return reason;
}

bool dlg_can_take(const struct tfl_context *context, const struct tfl_node *node,
                  const struct tfl_registration *registration, const char **reason)
{
    const struct dlg_operator *operator = dlg_operator(registration->code);
    bool is_custom = registration->code == TFL_CUSTOM_OPERATOR;
    *reason = NULL;
    if (node->delegate || registration->code == TFL_DELEGATE_OPERATOR)
        *reason = "belongs to another delegate";
    else if (is_custom ? !registration->custom_name : !operator)
        *reason = "is not among the operators that the delegate takes";
    else if (operator && !dlg_can_put(operator, registration->version, node->options))
        *reason = "has options that are not of the format";
    else if (!node->outputs->size)
        *reason = "has no result";
    if (!*reason)
        *reason = refusal_of(context, node->inputs);
    if (!*reason)
        *reason = refusal_of(context, node->outputs);
    return !*reason;
}

/* -- numbers --------------------------------------------------------------------------------------------------------- */
/* A list of numbers that grows. */
struct list {
    int *data;
    size_t count, room;
    bool failed;
};

static void add(struct list *list, int value)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 16;
        int *data = realloc(list->data, room * sizeof *data);
        if (!data) {
            list->failed = true;
            return;
        }
        list->data = data;
        list->room = room;
    }
    list->data[list->count++] = value;
}

enum role { READ = 1, MADE = 2, OF_CUSTOM = 4 };

/* The work on one file. tensors: their numbers, in the order of the file; place: where each is among them; role: what
 * the nodes do with each; operators: one node for each of the file's codes, whose code that is. */
struct work {
    struct tfl_context *context;
    const int *nodes;
    size_t count;
    struct list tensors, inputs, outputs, codes;
    int *place;
    uint8_t *role;
    struct fb fb;
    size_t *data_at; /* of the offset of each tensor's bytes in the file, 0 for none */
    bool is_open;
};

static void get(const struct work *work, size_t index, struct tfl_node **node, struct tfl_registration **registration)
{
    work->context->get_node(work->context, work->nodes[index], node, registration);
}

static void see(struct work *work, int tensor)
{
    if (work->place[tensor] == NOT_THERE) {
        work->place[tensor] = (int)work->tensors.count;
        add(&work->tensors, tensor);
    }
}

static bool has_same_code(const struct tfl_registration *one, const struct tfl_registration *other)
{
    return one->code == other->code &&
           (one->code != TFL_CUSTOM_OPERATOR || !strcmp(one->custom_name, other->custom_name));
}

/* Number of a node's code in the file. */
static size_t code_of(struct work *work, size_t index)
{
    struct tfl_node *node;
    struct tfl_registration *registration, *other;
    get(work, index, &node, &registration);
    size_t k = 0;
    for (; k < work->codes.count; k++) {
        get(work, (size_t)work->codes.data[k], &node, &other);
        if (has_same_code(registration, other))
            break;
    }
    if (k == work->codes.count)
        add(&work->codes, (int)index);
    return k;
}

static void number(struct work *work, const struct tfl_ints *outputs)
{
    struct tfl_node *node;
    struct tfl_registration *registration;
    for (size_t i = 0; i < work->count; i++) {
        get(work, i, &node, &registration);
        for (int k = 0; k < node->inputs->size; k++) {
            int tensor = node->inputs->data[k];
            if (tensor == TFL_OMITTED)
                continue;
            if (work->place[tensor] == NOT_THERE && !dlg_is_constant(&work->context->tensors[tensor]))
                add(&work->inputs, tensor);
            see(work, tensor);
            work->role[tensor] |= READ;
        }
        for (int k = 0; k < node->outputs->size; k++)
            if (node->outputs->data[k] != TFL_OMITTED) {
                see(work, node->outputs->data[k]);
                work->role[node->outputs->data[k]] |=
                    registration->code == TFL_CUSTOM_OPERATOR ? MADE | OF_CUSTOM : MADE;
            }
        code_of(work, i);
    }
    for (int i = 0; outputs && i < outputs->size; i++)
        add(&work->outputs, outputs->data[i]);
    for (size_t i = 0; !outputs && i < work->tensors.count; i++)
        if ((work->role[work->tensors.data[i]] & (MADE | READ)) == MADE)
            add(&work->outputs, work->tensors.data[i]);
}

/* -- the file -------------------------------------------------------------------------------------------------------- */
/* A vector of numbers of tensors, as the file has them. */
static size_t put_places(struct work *work, const int *tensors, size_t count)
{
    size_t vector = fb_vector(&work->fb, count, 4);
    for (size_t i = 0; i < count; i++)
        fb_set(&work->fb, fb_item(vector, i, 4),
               (uint32_t)(tensors[i] == TFL_OMITTED ? TFL_OMITTED : work->place[tensors[i]]), 4);
    return vector;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static size_t put_quantization(struct fb *fb, const struct tfl_tensor *tensor)
{
    const struct tfl_affine *affine = tensor->quantization.type == TFL_AFFINE ? tensor->quantization.params : NULL;
    size_t scales = affine && affine->scale ? (size_t)affine->scale->size : 0;
    size_t points = affine && affine->zero_point ? (size_t)affine->zero_point->size : 0;
    struct fb_field fields[] = {{2, 4, 0, 0}, {3, 4, 0, 0}, {6, 4, affine ? (uint32_t)affine->dimension : 0, 0}};
    size_t table = fb_table(fb, fields, 3);
    size_t vector = fb_vector(fb, scales, 4);
    fb_point(fb, fields[0].at, vector);
    for (size_t i = 0; i < scales; i++)
        fb_set(fb, fb_item(vector, i, 4), bits_of(affine->scale->data[i]), 4);
    /* Some versions of LiteRT keep one zero point where all channels have the same; files have one for each. */
    bool is_for_all = points == 1;
    vector = fb_vector(fb, is_for_all ? scales : points, 8);
    fb_point(fb, fields[1].at, vector);
    for (size_t i = 0; i < (is_for_all ? scales : points); i++)
        fb_set(fb, fb_item(vector, i, 8), (uint64_t)(int64_t)affine->zero_point->data[is_for_all ? 0 : i], 8);
    return table;
}

static size_t put_tensor(struct work *work, size_t place)
{
    int index = work->tensors.data[place];
    const struct tfl_tensor *tensor = &work->context->tensors[index];
    bool is_constant = dlg_is_constant(tensor), is_made = work->role[index] & MADE;
    /* The sizes of inputs are those that they have now; of what the nodes make only those that can be no others. */
    bool has_shape = tensor->dims && (is_constant || !is_made || dlg_is_sized(tensor));
    size_t rank = has_shape ? (size_t)tensor->dims->size : 0;
    work->is_open |= !has_shape || (!is_constant && !dlg_is_sized(tensor));
    struct fb_field fields[] = {
        {0, 4, 0, 0}, {1, 1, (uint8_t)types[tensor->type].number, 0}, {2, 4, is_constant ? place + 1 : 0, 0},
        {4, 4, 0, 0}, {8, 1, is_constant || rank, 0}};
    size_t table = fb_table(&work->fb, fields, 5);
    size_t shape = fb_vector(&work->fb, rank, 4);
    fb_point(&work->fb, fields[0].at, shape);
    for (size_t i = 0; i < rank; i++)
        fb_set(&work->fb, fb_item(shape, i, 4), (uint32_t)tensor->dims->data[i], 4);
    fb_point(&work->fb, fields[3].at, put_quantization(&work->fb, tensor));
    return table;
}

static size_t put_operator(struct work *work, size_t index)
{
    struct tfl_node *node;
    struct tfl_registration *registration;
    get(work, index, &node, &registration);
    const struct dlg_operator *operator = dlg_operator(registration->code);
    struct fb_field fields[5] = {{0, 4, code_of(work, index), 0}, {1, 4, 0, 0}, {2, 4, 0, 0}};
    size_t count = 3;
    bool is_custom = registration->code == TFL_CUSTOM_OPERATOR;
    if (is_custom) {
        fields[count++] = (struct fb_field){5, 4, 0, 0};
    } else if (operator->which) {
        bool is_first = operator->which == 1;
        fields[count++] = (struct fb_field){is_first ? 3 : 11, 1, (uint64_t)operator->number, 0};
        fields[count++] = (struct fb_field){is_first ? 4 : 12, 4, 0, 0};
    }
    struct fb *fb = &work->fb;
    size_t table = fb_table(fb, fields, count);
    fb_point(fb, fields[1].at, put_places(work, node->inputs->data, (size_t)node->inputs->size));
    fb_point(fb, fields[2].at, put_places(work, node->outputs->data, (size_t)node->outputs->size));
    if (is_custom) {
        size_t size = node->custom_options && node->custom_options_size > 0 ? (size_t)node->custom_options_size : 0;
        size_t bytes = fb_vector(fb, size, 1);
        fb_point(fb, fields[3].at, bytes);
        if (size && !fb->failed)
            memcpy(fb->data + fb_item(bytes, 0, 1), node->custom_options, size);
    } else if (operator->which) {
        fb_point(fb, fields[4].at, dlg_put_options(fb, operator, registration->version, node->options));
    }
    return table;
}

static size_t put_code(struct work *work, size_t index)
{
    struct tfl_node *node;
    struct tfl_registration *registration;
    get(work, (size_t)work->codes.data[index], &node, &registration);
    int old = registration->code < MOST_CODE ? registration->code : MOST_CODE;
    bool is_custom = registration->code == TFL_CUSTOM_OPERATOR;
    struct fb_field fields[] = {{0, 1, (uint64_t)old, 0}, {3, 4, (uint64_t)registration->code, 0}, {1, 4, 0, 0}};
    size_t table = fb_table(&work->fb, fields, is_custom ? 3 : 2);
    if (is_custom) {
        const char *name = registration->custom_name;
        fb_point(&work->fb, fields[2].at, fb_text(&work->fb, name, strlen(name)));
    }
    return table;
}

/* The buffer of a constant, whose bytes lie behind the tables. */
static size_t put_buffer(struct work *work, size_t index)
{
    const struct tfl_tensor *tensor = index ? &work->context->tensors[work->tensors.data[index - 1]] : NULL;
    bool has_data = tensor && dlg_is_constant(tensor) && tensor->bytes;
    struct fb_field fields[] = {{1, 8, 0, 0}, {2, 8, has_data ? tensor->bytes : 0, 0}};
    size_t table = fb_table(&work->fb, fields, has_data ? 2 : 0);
    if (has_data)
        work->data_at[index - 1] = fields[0].at;
    return table;
}

/* A vector of tables. */
static size_t put_all(struct work *work, size_t count, size_t (*put)(struct work *work, size_t index))
{
    size_t vector = fb_vector(&work->fb, count, 4);
    for (size_t i = 0; i < count; i++)
        fb_point(&work->fb, fb_item(vector, i, 4), put(work, i));
    return vector;
}

static size_t put_graph(struct work *work)
{
    struct fb *fb = &work->fb;
    struct fb_field fields[] = {{0, 4, 0, 0}, {1, 4, 0, 0}, {2, 4, 0, 0}, {3, 4, 0, 0}};
    size_t table = fb_table(fb, fields, 4);
    fb_point(fb, fields[0].at, put_all(work, work->tensors.count, put_tensor));
    fb_point(fb, fields[1].at, put_places(work, work->inputs.data, work->inputs.count));
    fb_point(fb, fields[2].at, put_places(work, work->outputs.data, work->outputs.count));
    fb_point(fb, fields[3].at, put_all(work, work->count, put_operator));
    return table;
}

static void put_model(struct work *work)
{
    struct fb *fb = &work->fb;
    size_t root = fb_start(fb, "TFL3");
    struct fb_field fields[] = {{0, 4, FILE_VERSION, 0}, {1, 4, 0, 0}, {2, 4, 0, 0}, {4, 4, 0, 0}};
    fb_point(fb, root, fb_table(fb, fields, 4));
    fb_point(fb, fields[1].at, put_all(work, work->codes.count, put_code));
    size_t graphs = fb_vector(fb, 1, 4);
    fb_point(fb, fields[2].at, graphs);
    fb_point(fb, fb_item(graphs, 0, 4), put_graph(work));
    fb_point(fb, fields[3].at, put_all(work, work->tensors.count + 1, put_buffer));
}

/* -- its memory ------------------------------------------------------------------------------------------------------ */
static bool write_all(int fd, const void *data, size_t size, size_t at)
{
    const uint8_t *bytes = data;
    for (size_t done = 0; done < size;) {
        size_t part = size - done < WRITE_BYTES ? size - done : WRITE_BYTES;
        ssize_t wrote = pwrite(fd, bytes + done, part, (off_t)(at + done));
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        done += (size_t)wrote;
    }
    return true;
}

static size_t aligned(size_t at)
{
    return (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Lays the constants behind the tables, those that share their bytes once; returns the size of the file. starts: of each
 * tensor's, for those that are to be written. */
static size_t lay_out(struct work *work, size_t *starts)
{
    size_t end = aligned(work->fb.size);
    for (size_t i = 0; i < work->tensors.count; i++) {
        const struct tfl_tensor *tensor = &work->context->tensors[work->tensors.data[i]];
        if (!work->data_at[i])
            continue;
        size_t at = end;
        for (size_t k = 0; k < i && at == end; k++) {
            const struct tfl_tensor *other = &work->context->tensors[work->tensors.data[k]];
            if (starts[k] && other->data == tensor->data && other->bytes == tensor->bytes)
                at = starts[k];
        }
        if (at == end) {
            starts[i] = end;
            end = aligned(end + tensor->bytes);
        }
        fb_set(&work->fb, work->data_at[i], at, 8);
    }
    return end;
}

/* The file in a memfd that stays as it is; -1 without memory. */
static int write_file(struct work *work)
{
    size_t *starts = calloc(work->tensors.count + 1, sizeof *starts);
    if (!starts || work->fb.failed) {
        free(starts);
        return -1;
    }
    size_t size = lay_out(work, starts);
    int fd = ndk_memfd(size);
    bool is_written = fd >= 0 && write_all(fd, work->fb.data, work->fb.size, 0);
    for (size_t i = 0; is_written && i < work->tensors.count; i++) {
        const struct tfl_tensor *tensor = &work->context->tensors[work->tensors.data[i]];
        if (starts[i])
            is_written = write_all(fd, tensor->data, tensor->bytes, starts[i]);
    }
    free(starts);
    if (fd >= 0 && (!is_written || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool dlg_make_graph(struct tfl_context *context, const int *nodes, size_t count, const struct tfl_ints *outputs,
                    struct dlg_graph *graph)
{
    struct work work = {.context = context, .nodes = nodes, .count = count};
    *graph = (struct dlg_graph){.fd = -1};
    work.place = malloc((context->tensor_count + 1) * sizeof *work.place);
    work.role = calloc(context->tensor_count + 1, sizeof *work.role);
    if (work.place && work.role) {
        for (size_t i = 0; i < context->tensor_count; i++)
            work.place[i] = NOT_THERE;
        number(&work, outputs);
        work.data_at = calloc(work.tensors.count + 1, sizeof *work.data_at);
    }
    if (work.data_at && !(work.tensors.failed || work.inputs.failed || work.outputs.failed || work.codes.failed)) {
        put_model(&work);
        graph->fd = write_file(&work);
    }
    graph->inputs = work.inputs.data;
    graph->input_count = work.inputs.count;
    graph->outputs = work.outputs.data;
    graph->output_count = work.outputs.count;
    graph->is_open = work.is_open;
    graph->shapes = calloc(graph->input_count + 1, sizeof *graph->shapes);
    graph->is_free = calloc(graph->output_count + 1, sizeof *graph->is_free);
    for (size_t i = 0; graph->is_free && work.role && i < graph->output_count; i++)
        graph->is_free[i] = work.role[graph->outputs[i]] & OF_CUSTOM;
    bool has_shapes = graph->shapes && graph->is_free;
    for (size_t i = 0; has_shapes && i < graph->input_count; i++)
        has_shapes = (graph->shapes[i] = dlg_copy(context->tensors[graph->inputs[i]].dims)) != NULL;
    free(work.place);
    free(work.role);
    free(work.data_at);
    free(work.tensors.data);
    free(work.codes.data);
    fb_free(&work.fb);
    if (graph->fd < 0 || !has_shapes) {
        dlg_free_graph(graph);
        return false;
    }
    return true;
}

void dlg_free_graph(struct dlg_graph *graph)
{
    for (size_t i = 0; graph->shapes && i < graph->input_count; i++)
        free(graph->shapes[i]);
    free(graph->shapes);
    free(graph->is_free);
    if (graph->fd >= 0)
        close(graph->fd);
    free(graph->inputs);
    free(graph->outputs);
    *graph = (struct dlg_graph){.fd = -1};
}
