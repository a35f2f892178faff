#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#include "ndk/log.h"
#include "ndk/object.h"

/* is_scalar: outputs of one element that TFLite has without dimensions. */
struct kernel {
    struct dlg_delegate *delegate;
    struct dlg_graph graph;
    struct dlg_model model;
    bool *is_scalar;
};

void dlg_report(struct tfl_context *context, const char *text, const char *reason)
{
    context->report(context, *reason ? "nnfast: %s: %s" : "nnfast: %s%s", text, reason);
}

void dlg_free_found(struct dlg_delegate *delegate)
{
    for (size_t i = 0; i < delegate->found_count; i++) {
        free(delegate->found[i].nodes);
        dlg_free_graph(&delegate->found[i].graph);
        dlg_free_model(&delegate->found[i].model);
    }
    free(delegate->found);
    delegate->found = NULL;
    delegate->found_count = 0;
}

/* -- its life -------------------------------------------------------------------------------------------------------- */
static void free_kernel(struct tfl_context *context, void *user_data)
{
    struct kernel *kernel = user_data;
    (void)context;
    if (!kernel)
        return;
    dlg_free_graph(&kernel->graph);
    dlg_free_model(&kernel->model);
    free(kernel->is_scalar);
    free(kernel);
}

/* Takes over the part of these nodes. */
static bool take_found(struct kernel *kernel, const struct tfl_ints *nodes)
{
    struct dlg_delegate *delegate = kernel->delegate;
    for (size_t i = 0; i < delegate->found_count; i++) {
        struct dlg_found *found = &delegate->found[i];
        if (!dlg_is_same(found->nodes, nodes))
            continue;
        kernel->graph = found->graph;
        kernel->model = found->model;
        free(found->nodes);
        *found = (struct dlg_found){.graph.fd = -1};
        return true;
    }
    return false;
}

/* Which outputs have one element and no dimensions. */
static void find_scalars(const struct tfl_context *context, struct kernel *kernel)
{
    for (size_t i = 0; i < kernel->graph.output_count; i++) {
        const struct tfl_ints *dims = context->tensors[kernel->graph.outputs[i]].dims;
        kernel->is_scalar[i] = dims && !dims->size && !kernel->graph.is_free[i];
    }
}

static void *init(struct tfl_context *context, const char *data, size_t size)
{
    const struct tfl_part *part = (const struct tfl_part *)(uintptr_t)data;
    struct kernel *kernel = calloc(1, sizeof *kernel);
    (void)size;
    if (!kernel)
        return NULL;
    kernel->delegate = part->delegate->data;
    kernel->graph.fd = -1;
    if (take_found(kernel, part->nodes))
        kernel->is_scalar = calloc(kernel->graph.output_count + 1, sizeof *kernel->is_scalar);
    if (!kernel->is_scalar) {
        free_kernel(context, kernel);
        return NULL; /* prepare refuses */
    }
    find_scalars(context, kernel);
    return kernel;
}

/* -- shapes ---------------------------------------------------------------------------------------------------------- */
static int failed(struct tfl_context *context, int code, const char *what)
{
    dlg_report(context, what, code == ANEURALNETWORKS_DEAD_OBJECT ? "the driver's process has ended" : ndk_reason());
    return TFL_ERROR;
}

/* Gives a tensor a shape, which is taken over. */
static bool resize(struct tfl_context *context, struct tfl_tensor *tensor, struct tfl_ints *shape, bool is_scalar)
{
    if (!shape)
        return false;
    if (is_scalar && shape->size == 1 && shape->data[0] == 1)
        shape->size = 0;
    if (dlg_is_same(shape, tensor->dims) && (tensor->allocation != TFL_DYNAMIC || tensor->data)) {
        free(shape);
        return true;
    }
    return context->resize(context, tensor, shape) == TFL_OK;
}

static bool has_dynamic_inputs(const struct tfl_context *context, const struct kernel *kernel)
{
    for (size_t i = 0; i < kernel->graph.input_count; i++)
        if (context->tensors[kernel->graph.inputs[i]].allocation == TFL_DYNAMIC)
            return true;
    return false;
}

/* Leaves the shapes of all outputs to the runs. */
static void let_runs_tell(struct tfl_context *context, const struct kernel *kernel)
{
    for (size_t i = 0; i < kernel->graph.output_count; i++) {
        struct tfl_tensor *tensor = &context->tensors[kernel->graph.outputs[i]];
        if (tensor->allocation == TFL_ARENA || tensor->allocation == TFL_NOWHERE) {
            tensor->allocation = TFL_DYNAMIC;
            tensor->data = NULL;
        }
    }
}

static int compile(struct tfl_context *context, struct kernel *kernel)
{
    return dlg_is_for(&kernel->model, context, &kernel->graph)
               ? ANEURALNETWORKS_NO_ERROR
               : dlg_compile(&kernel->delegate->options, context, &kernel->graph, &kernel->model);
}

static int prepare(struct tfl_context *context, struct tfl_node *node)
{
    struct kernel *kernel = node->user_data;
    if (!kernel) {
        dlg_report(context, "there was no memory for a part of the graph", "");
        return TFL_ERROR;
    }
    if (has_dynamic_inputs(context, kernel)) {
        let_runs_tell(context, kernel);
        return TFL_OK;
    }
    int code = compile(context, kernel);
    if (code)
        return failed(context, code, "the graph cannot be compiled for these shapes");
    if (!kernel->model.has_shapes) {
        let_runs_tell(context, kernel);
        return TFL_OK;
    }
    for (size_t i = 0; i < kernel->graph.output_count; i++)
        if (!resize(context, &context->tensors[kernel->graph.outputs[i]], dlg_copy(kernel->model.outputs[i].shape),
                    kernel->is_scalar[i]))
            return TFL_ERROR;
    return TFL_OK;
}

/* -- running --------------------------------------------------------------------------------------------------------- */
struct receiver {
    struct tfl_context *context;
    struct kernel *kernel;
};

static bool take(void *given, size_t output, struct tfl_ints *shape, const uint8_t *data)
{
    const struct receiver *receiver = given;
    struct kernel *kernel = receiver->kernel;
    struct tfl_tensor *tensor = &receiver->context->tensors[kernel->graph.outputs[output]];
    size_t item = dlg_item_bytes(tensor->type), bytes = kernel->model.outputs[output].item_bytes, count = 1;
    for (int i = 0; i < shape->size; i++)
        count *= (size_t)shape->data[i];
    if (tensor->allocation == TFL_DYNAMIC) {
        if (!resize(receiver->context, tensor, shape, kernel->is_scalar[output]))
            return false;
    } else {
        free(shape);
    }
    if (tensor->bytes != count * item || (count && !tensor->data))
        return false;
    if (item == bytes && count)
        memcpy(tensor->data, data, count * item);
    for (size_t i = 0; item != bytes && i < count; i++) {
        int32_t narrow;
        memcpy(&narrow, data + i * sizeof narrow, sizeof narrow);
        int64_t value = narrow;
        memcpy((uint8_t *)tensor->data + i * sizeof value, &value, sizeof value);
    }
    return true;
}

static int invoke(struct tfl_context *context, struct tfl_node *node)
{
    struct kernel *kernel = node->user_data;
    struct receiver receiver = {context, kernel};
    int code = compile(context, kernel);
    if (!code)
        code = dlg_run(&kernel->model, context, &kernel->graph, take, &receiver);
    if (!code)
        return TFL_OK;
    if (code == ANEURALNETWORKS_DEAD_OBJECT)
        dlg_free_model(&kernel->model); /* the next run compiles it anew, in a driver of its own time */
    return failed(context, code, "the run failed");
}

struct tfl_registration dlg_registration(void)
{
    return (struct tfl_registration){.init = init, .free = free_kernel, .prepare = prepare, .invoke = invoke,
                                     .code = TFL_DELEGATE_OPERATOR, .custom_name = "nnfast", .version = 1};
}
