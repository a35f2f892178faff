#define _GNU_SOURCE
#include "driver.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ndk/log.h"
#include "ndk/object.h"
#include "ndk/release.h"
#include "prepare.h"

enum { MOST_RANK = 64, INLINE = -1, ATTACHED = -2 };

static int refuse(const char *where, const char *text)
{
    ndk_log(where, text, strlen(text));
    return ANEURALNETWORKS_OP_FAILED;
}

static struct tfl_tensor *input_of(const struct tfl_context *context, const struct dlg_graph *graph, size_t index)
{
    return &context->tensors[graph->inputs[index]];
}

/* Elements of a shape; SIZE_MAX if they are too many, or not known. */
static size_t elements(const struct tfl_ints *shape)
{
    size_t count = 1;
    for (int i = 0; i < shape->size; i++)
        if (shape->data[i] < 0 || __builtin_mul_overflow(count, (size_t)shape->data[i], &count))
            return SIZE_MAX;
    return count < SIZE_MAX / 64 ? count : SIZE_MAX;
}

static size_t aligned(size_t at)
{
    return (at + NDK_LINE - 1) / NDK_LINE * NDK_LINE;
}

/* -- what the driver translates -------------------------------------------------------------------------------------- */
static int read_refused(struct ndk_reader *answer, int **refused, size_t *count)
{
    size_t found = ndk_get_array(answer);
    int *numbers = malloc((found + 1) * sizeof *numbers);
    if (!numbers)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    for (size_t i = 0; i < found; i++) {
        size_t size;
        ndk_get_array(answer);
        numbers[i] = (int)ndk_get_int(answer);
        const char *reason = ndk_get_text(answer, &size);
        if (!answer->failed)
            ndk_log("operator is not translated", reason, size);
    }
    if (answer->failed) {
        free(numbers);
        return refuse("survey", "the driver's answer is none");
    }
    *refused = numbers;
    *count = found;
    return ANEURALNETWORKS_NO_ERROR;
}

/* The session that the options want, and a connection of it. */
static int reach(struct ndk_session **session, struct ndk_connection **connection)
{
    int code = ndk_session(session);
    if (code)
        return code;
    code = ndk_take(*session, connection);
    if (code)
        ndk_session_unref(*session);
    return code;
}

int dlg_survey(const struct dlg_options *options, const struct dlg_graph *graph, int **refused, size_t *count)
{
    struct ndk_session *session;
    struct ndk_connection *connection;
    struct ndk_buffer message = {0};
    struct ndk_reader answer;
    (void)options;
    int code = reach(&session, &connection);
    if (code)
        return code;
    ndk_put_array(&message, 1);
    ndk_put_int(&message, NDK_GET_UNSUPPORTED);
    code = ndk_call(connection, &message, graph->fd, NDK_UNSUPPORTED, &answer, "survey");
    ndk_buffer_free(&message);
    if (!code)
        code = read_refused(&answer, refused, count);
    ndk_give(connection);
    ndk_session_unref(session);
    return code;
}

/* -- compiling ------------------------------------------------------------------------------------------------------- */
static struct tfl_ints *read_shape(struct ndk_reader *reader)
{
    size_t rank = ndk_get_array(reader);
    struct tfl_ints *shape = rank <= MOST_RANK ? malloc(sizeof *shape + (rank + 1) * sizeof *shape->data) : NULL;
    if (!shape) {
        reader->failed = true;
        return NULL;
    }
    shape->size = (int)rank;
    for (size_t i = 0; i < rank; i++) {
        int64_t extent = ndk_get_int(reader);
        reader->failed |= extent < 0 || extent > INT32_MAX;
        shape->data[i] = (int)extent;
    }
    return shape;
}

/* Reads the description of an input or output, of which the bytes of an element matter. */
static void read_port(struct ndk_reader *reader, struct dlg_port *port)
{
    size_t fields = ndk_get_array(reader), size;
    ndk_skip(reader); /* name */
    ndk_skip(reader); /* shape */
    const char *dtype = ndk_get_text(reader, &size); /* as "<f4" or "<c16" */
    for (size_t i = 2; !reader->failed && i < size && i < 5; i++)
        port->item_bytes = 10 * port->item_bytes + (size_t)(dtype[i] - '0');
    for (size_t i = 3; i < fields; i++)
        ndk_skip(reader);
    reader->failed |= port->item_bytes < 1 || port->item_bytes > 16;
}

static struct dlg_port *read_ports(struct ndk_reader *reader, size_t count)
{
    struct dlg_port *ports = calloc(count + 1, sizeof *ports);
    reader->failed |= ndk_get_array(reader) != count || !ports;
    for (size_t i = 0; !reader->failed && i < count; i++)
        read_port(reader, &ports[i]);
    return ports;
}

static void read_model(struct ndk_reader *answer, const struct dlg_graph *graph, struct dlg_model *model)
{
    model->number = ndk_get_int(answer);
    ndk_skip(answer); /* name */
    ndk_skip(answer); /* operations */
    ndk_skip(answer); /* priority */
    model->input_count = graph->input_count;
    model->output_count = graph->output_count;
    model->inputs = read_ports(answer, model->input_count);
    model->outputs = read_ports(answer, model->output_count);
    model->has_shapes = !ndk_get_nil(answer);
    if (model->has_shapes)
        answer->failed |= ndk_get_array(answer) != model->output_count;
    for (size_t i = 0; model->has_shapes && !answer->failed && i < model->output_count; i++)
        model->outputs[i].shape = read_shape(answer);
}

/* Whether values of a tensor may be handed over as the model has them. */
static bool fits(const struct tfl_tensor *tensor, const struct dlg_port *port)
{
    size_t bytes = dlg_item_bytes(tensor->type);
    return bytes == port->item_bytes || (tensor->type == TFL_INT64 && port->item_bytes == sizeof(int32_t));
}

/* Gives each input, and each output of known shape, its place in the arena. */
static bool lay_out(const struct tfl_context *context, const struct dlg_graph *graph, struct dlg_model *model)
{
    size_t at = 0;
    for (size_t i = 0; i < model->input_count + model->output_count; i++) {
        bool is_input = i < model->input_count;
        struct dlg_port *port = is_input ? &model->inputs[i] : &model->outputs[i - model->input_count];
        const struct tfl_tensor *tensor =
            &context->tensors[is_input ? graph->inputs[i] : graph->outputs[i - model->input_count]];
        if (!fits(tensor, port))
            return false;
        if (is_input)
            port->shape = dlg_copy(tensor->dims);
        else if (!port->shape)
            continue;
        size_t count = port->shape ? elements(port->shape) : SIZE_MAX;
        if (count == SIZE_MAX)
            return false;
        port->size = count * port->item_bytes;
        port->offset = at;
        at = aligned(at + port->size);
    }
    model->arena_size = at;
    return true;
}

/* The call of a run, whose bytes are always the same, so that the driver may know it by them. */
static void put_run(struct dlg_model *model)
{
    struct ndk_buffer *message = &model->run;
    ndk_put_array(message, 7);
    ndk_put_int(message, NDK_RUN);
    ndk_put_int(message, model->number);
    ndk_put_array(message, model->input_count);
    for (size_t i = 0; i < model->input_count; i++) {
        ndk_put_array(message, 2);
        ndk_put_int(message, (int64_t)model->inputs[i].offset);
        dlg_put_shape(message, model->inputs[i].shape, true);
    }
    if (model->has_shapes) {
        ndk_put_array(message, model->output_count);
        for (size_t i = 0; i < model->output_count; i++)
            ndk_put_int(message, (int64_t)model->outputs[i].offset);
    } else {
        ndk_put_nil(message);
    }
    ndk_put_int(message, 0); /* stream */
    ndk_put_int(message, 0); /* number for Cancel */
    ndk_put_nil(message);    /* deadline */
}

int dlg_compile(const struct dlg_options *options, const struct tfl_context *context, const struct dlg_graph *graph,
                struct dlg_model *model)
{
    struct ndk_connection *connection;
    struct ndk_reader answer;
    dlg_free_model(model);
    int code = reach(&model->session, &connection);
    if (code) {
        model->session = NULL;
        return code;
    }
    code = dlg_prepare(connection, options, context, graph, &answer);
    if (!code) {
        read_model(&answer, graph, model);
        if (answer.failed)
            code = refuse("compile", "the driver's answer does not fit the graph");
        else if (!lay_out(context, graph, model))
            code = refuse("compile", "an input or output has a type or size that the driver has otherwise");
        else
            put_run(model);
        model->waiting = ndk_waiting_of(options->num_threads);
    }
    if (!code && model->run.failed)
        code = ANEURALNETWORKS_OUT_OF_MEMORY;
    ndk_give(connection);
    if (code)
        dlg_free_model(model);
    return code;
}

void dlg_free_model(struct dlg_model *model)
{
    if (model->session) {
        if (model->number)
            ndk_session_release(model->session, "prepared", model->number);
        ndk_session_unref(model->session);
    }
    for (size_t i = 0; model->inputs && i < model->input_count; i++)
        free(model->inputs[i].shape);
    for (size_t i = 0; model->outputs && i < model->output_count; i++)
        free(model->outputs[i].shape);
    free(model->inputs);
    free(model->outputs);
    ndk_buffer_free(&model->run);
    *model = (struct dlg_model){0};
}

bool dlg_is_for(const struct dlg_model *model, const struct tfl_context *context, const struct dlg_graph *graph)
{
    if (!model->session)
        return false;
    for (size_t i = 0; i < model->input_count; i++)
        if (!dlg_is_same(model->inputs[i].shape, input_of(context, graph, i)->dims))
            return false;
    return true;
}

/* -- running --------------------------------------------------------------------------------------------------------- */
/* Copies the values of an input into the arena; false if they are not there, or beyond the driver's type. */
static bool send_in(const struct tfl_tensor *tensor, const struct dlg_port *port, uint8_t *arena)
{
    size_t item = dlg_item_bytes(tensor->type), count = port->size / port->item_bytes;
    uint8_t *target = arena + port->offset;
    if (!port->size)
        return true;
    if (!tensor->data || tensor->bytes < count * item)
        return false;
    if (item == port->item_bytes) {
        memcpy(target, tensor->data, port->size);
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t value;
        memcpy(&value, (const uint8_t *)tensor->data + i * sizeof value, sizeof value);
        int32_t narrow = (int32_t)value;
        if (narrow != value)
            return false;
        memcpy(target + i * sizeof narrow, &narrow, sizeof narrow);
    }
    return true;
}

/* The memory that came with an answer, mapped. */
struct attached {
    const uint8_t *data;
    size_t size;
};

static struct attached map_attached(int fd)
{
    struct attached attached = {NULL, 0};
    struct stat found;
    if (fd < 0 || fstat(fd, &found) || found.st_size <= 0)
        return attached;
    void *data = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (data != MAP_FAILED)
        attached = (struct attached){data, (size_t)found.st_size};
    return attached;
}

static bool take_result(struct ndk_reader *answer, const struct dlg_model *model, size_t output, const uint8_t *arena,
                        const struct attached *attached, dlg_taker *take, void *receiver)
{
    size_t fields = ndk_get_array(answer), room = 0;
    int64_t offset = ndk_get_int(answer);
    struct tfl_ints *shape = read_shape(answer);
    const uint8_t *inside = fields > 2 ? ndk_get_bytes(answer, &room) : NULL;
    size_t count = shape && !answer->failed ? elements(shape) : SIZE_MAX;
    const uint8_t *data = NULL;
    if (offset == INLINE) {
        data = inside;
    } else if (offset <= ATTACHED) {
        size_t at = (size_t)(ATTACHED - offset);
        room = at <= attached->size ? attached->size - at : 0;
        data = attached->data ? attached->data + at : NULL;
    } else {
        room = (uint64_t)offset <= model->arena_size ? model->arena_size - (size_t)offset : 0;
        data = arena + offset;
    }
    if (count == SIZE_MAX || count * model->outputs[output].item_bytes > room) {
        free(shape);
        return false;
    }
    return take(receiver, output, shape, data);
}

static bool has_answer(void *of, int64_t timeout_ns)
{
    const struct ndk_connection *connection = of;
    struct pollfd event = {.fd = connection->fd, .events = POLLIN};
    struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    return ppoll(&event, 1, &timeout, NULL) != 0; /* an interrupt or error: the read tells */
}

static int run_on(struct dlg_model *model, const struct tfl_context *context, const struct dlg_graph *graph,
                  struct ndk_connection *connection, dlg_taker *take, void *receiver)
{
    struct ndk_reader answer;
    int code = ndk_reserve(connection, model->arena_size + NDK_LINE);
    if (code)
        return code;
    for (size_t i = 0; i < model->input_count; i++)
        if (!send_in(input_of(context, graph, i), &model->inputs[i], connection->arena))
            return refuse("run", "an input has no values, or some that do not fit the driver's type");
    code = ndk_tell(connection, &model->run, -1);
    if (code)
        return code;
    ndk_await(&model->waiting, has_answer, connection);
    code = ndk_answer(connection, NDK_RESULTS, &answer, "run");
    if (code)
        return code;
    ndk_awaited(&model->waiting);
    struct attached attached = map_attached(connection->attached);
    bool is_taken = ndk_get_array(&answer) == model->output_count;
    for (size_t i = 0; is_taken && i < model->output_count; i++)
        is_taken = take_result(&answer, model, i, connection->arena, &attached, take, receiver);
    if (attached.data)
        munmap((void *)(uintptr_t)attached.data, attached.size);
    return is_taken ? ANEURALNETWORKS_NO_ERROR : refuse("run", "a result does not fit its tensor");
}

int dlg_run(struct dlg_model *model, const struct tfl_context *context, const struct dlg_graph *graph, dlg_taker *take,
            void *receiver)
{
    struct ndk_connection *connection;
    int code = ndk_take(model->session, &connection);
    if (code)
        return code;
    code = run_on(model, context, graph, connection, take, receiver);
    ndk_give(connection);
    return code;
}
