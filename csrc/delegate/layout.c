#define _GNU_SOURCE
#include "layout.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "graph.h"

enum { MOST_TENSORS = 1 << 24, MOST_RANK = 64, MOST_CODE = 1 << 12, MOST_VERSION = 1 << 10, MOST_TYPES = 64,
       MOST_THREADS = 1 << 12, PIECE = 1 << 12 };

/* A pipe, through which the kernel reads memory: where there is none, it says so, and nobody is killed. */
struct probe {
    int ends[2];
};

static bool is_there(const struct probe *probe, const void *memory, size_t size)
{
    uint8_t sink[PIECE];
    const uint8_t *at = memory;
    while (size) {
        size_t part = size < PIECE ? size : PIECE;
        ssize_t sent = write(probe->ends[1], at, part);
        if (sent <= 0 || read(probe->ends[0], sink, (size_t)sent) != sent)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* Whether a pointer is one to code of a program or library. */
static bool is_code(const void *pointer)
{
    Dl_info found;
    return pointer && dladdr(pointer, &found) && found.dli_fname;
}

/* The address of a function. C has no conversion between the two kinds of pointers. */
#define CODE(function) code_of(&(function))
static const void *code_of(const void *function)
{
    const void *pointer;
    memcpy(&pointer, function, sizeof pointer);
    return pointer;
}

static bool is_list(const struct probe *probe, const struct tfl_ints *list, int most, int64_t low, int64_t high)
{
    if ((uintptr_t)list % sizeof(int) || !is_there(probe, list, sizeof *list) || list->size < 0 || list->size > most ||
        !is_there(probe, list->data, (size_t)list->size * sizeof *list->data))
        return false;
    for (int i = 0; i < list->size; i++)
        if (list->data[i] < low || list->data[i] >= high)
            return false;
    return true;
}

static bool is_quantization(const struct probe *probe, const struct tfl_tensor *tensor)
{
    if (tensor->quantization.type < TFL_UNQUANTIZED || tensor->quantization.type > MOST_TYPES)
        return false;
    if (tensor->quantization.type != TFL_AFFINE)
        return true;
    const struct tfl_affine *affine = tensor->quantization.params;
    if (!is_there(probe, affine, sizeof *affine))
        return false;
    /* As long as the list of zero points, the list of scales is one, too: both are a count and words. */
    return (!affine->scale || is_list(probe, (const struct tfl_ints *)affine->scale, MOST_TENSORS, INT32_MIN,
                                      INT64_C(1) << 32)) &&
           (!affine->zero_point || is_list(probe, affine->zero_point, MOST_TENSORS, INT32_MIN, INT64_C(1) << 32));
}

/* The bytes of a tensor are those of its shape: the surest sign that all is in its place. */
static bool has_size(const struct tfl_tensor *tensor)
{
    size_t item = dlg_item_bytes(tensor->type), count = 1;
    if (!item || tensor->type == TFL_INT4 || tensor->allocation == TFL_DYNAMIC || tensor->sparsity)
        return true;
    for (int i = 0; i < tensor->dims->size; i++)
        if (__builtin_mul_overflow(count, (size_t)tensor->dims->data[i], &count))
            return false;
    return tensor->allocation == TFL_CONSTANT ? tensor->bytes / item >= count : tensor->bytes == count * item;
}

static bool is_tensor(const struct probe *probe, const struct tfl_tensor *tensor)
{
    if (!is_there(probe, tensor, sizeof *tensor) || tensor->type < 0 || tensor->type >= MOST_TYPES ||
        tensor->allocation < 0 || tensor->allocation >= TFL_MOST_ALLOCATIONS)
        return false;
    if (tensor->allocation == TFL_NOWHERE)
        return true; /* a scratch tensor that nobody has set up */
    if (!tensor->dims || (tensor->name && !is_there(probe, tensor->name, 1)) ||
        (tensor->signature && !is_list(probe, tensor->signature, MOST_RANK, -1, INT64_C(1) << 31)))
        return false;
    return is_list(probe, tensor->dims, MOST_RANK, 0, INT64_C(1) << 31) && is_quantization(probe, tensor) &&
           has_size(tensor);
}

static bool is_context(const struct probe *probe, const struct tfl_context *context)
{
    return is_there(probe, context, sizeof *context) && context->tensor_count > 0 &&
           context->tensor_count <= MOST_TENSORS && context->tensors && is_code(CODE(context->get_plan)) &&
           is_code(CODE(context->get_node)) && is_code(CODE(context->replace)) && is_code(CODE(context->preview)) &&
           is_code(CODE(context->resize)) && is_code(CODE(context->report)) && is_code(CODE(context->add_tensors)) &&
           context->num_threads >= -1 && context->num_threads <= MOST_THREADS;
}

static bool is_node(const struct probe *probe, struct tfl_context *context, int index)
{
    struct tfl_node *node = NULL;
    struct tfl_registration *registration = NULL;
    int count = (int)context->tensor_count;
    if (context->get_node(context, index, &node, &registration) != TFL_OK || !is_there(probe, node, sizeof *node) ||
        !is_there(probe, registration, offsetof(struct tfl_registration, external)))
        return false;
    if (!is_list(probe, node->inputs, MOST_TENSORS, TFL_OMITTED, count) ||
        !is_list(probe, node->outputs, MOST_TENSORS, TFL_OMITTED, count))
        return false;
    if (registration->code < 0 || registration->code > MOST_CODE || registration->version < 0 ||
        registration->version > MOST_VERSION || (registration->prepare && !is_code(CODE(registration->prepare))) ||
        (registration->invoke && !is_code(CODE(registration->invoke))))
        return false;
    if (registration->custom_name && !is_there(probe, registration->custom_name, 1))
        return false;
    size_t size = node->custom_options_size < 0 ? 0 : (size_t)node->custom_options_size;
    return registration->code != TFL_CUSTOM_OPERATOR || !node->custom_options ||
           is_there(probe, node->custom_options, size);
}

static const char *look(const struct probe *probe, struct tfl_context *context)
{
    struct tfl_ints *plan = NULL;
    if (!is_context(probe, context))
        return "the context is not the one of TFLite 2.5 and later";
    for (size_t i = 0; i < context->tensor_count; i++)
        if (!is_tensor(probe, &context->tensors[i]))
            return "the tensors are not those of TFLite 2.5 and later";
    if (context->get_plan(context, &plan) != TFL_OK || !is_list(probe, plan, MOST_TENSORS, 0, MOST_TENSORS))
        return "the plan is not the one of TFLite 2.5 and later";
    for (int i = 0; i < plan->size; i++)
        if (!is_node(probe, context, plan->data[i]))
            return "the nodes are not those of TFLite 2.5 and later";
    return NULL;
}

const char *dlg_misfit(struct tfl_context *context)
{
    struct probe probe;
    if (pipe2(probe.ends, O_CLOEXEC | O_NONBLOCK))
        return "there are no descriptors to look at it";
    const char *misfit = look(&probe, context);
    close(probe.ends[0]);
    close(probe.ends[1]);
    return misfit;
}
