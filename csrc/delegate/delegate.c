/* libnnfast_delegate.so: an external delegate of TFLite, which has the parts of a graph that nnfast supports run by the
 * driver's process (docs/delegate.md). */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "layout.h"
#include "ndk/log.h"
#include "ndk/object.h"
#include "options.h"

enum { MOST_THREADS = 1024, MOST_ROUNDS = 16, LINE_BYTES = 1200 };

#define EXPORTED __attribute__((visibility("default")))

/* -- choosing nodes -------------------------------------------------------------------------------------------------- */
/* The nodes of a plan, and which of them the driver takes. */
struct choice {
    struct dlg_delegate *delegate;
    struct tfl_context *context;
    struct tfl_ints *plan;
    bool *takes;
    size_t parts;
    char refused[LINE_BYTES]; /* the first that it does not, and why */
};

static void leave(struct choice *choice, int place, const char *reason)
{
    struct tfl_node *node;
    struct tfl_registration *registration;
    choice->takes[place] = false;
    if (*choice->refused)
        return;
    choice->context->get_node(choice->context, choice->plan->data[place], &node, &registration);
    const struct dlg_operator *operator = dlg_operator(registration->code);
    snprintf(choice->refused, sizeof choice->refused, "node %d (%s) %s", choice->plan->data[place],
             operator ? operator->name : registration->custom_name ? registration->custom_name : "another operator",
             reason);
}

/* The nodes that are taken; NULL without memory. */
static struct tfl_ints *taken(const struct choice *choice)
{
    struct tfl_ints *nodes = malloc(sizeof *nodes + ((size_t)choice->plan->size + 1) * sizeof *nodes->data);
    if (!nodes)
        return NULL;
    nodes->size = 0;
    for (int i = 0; i < choice->plan->size; i++)
        if (choice->takes[i])
            nodes->data[nodes->size++] = choice->plan->data[i];
    return nodes;
}

static int place_of(const struct choice *choice, int node)
{
    for (int i = 0; i < choice->plan->size; i++)
        if (choice->plan->data[i] == node)
            return i;
    return 0;
}

/* Leaves the nodes that the driver does not translate; *found: whether there were any. */
static int leave_refused(struct choice *choice, const struct tfl_ints *nodes, const struct dlg_graph *graph, bool *found)
{
    int *refused = NULL;
    size_t count = 0;
    int code = dlg_survey(&choice->delegate->options, graph, &refused, &count);
    *found = false;
    for (size_t i = 0; !code && i < count; i++)
        if (refused[i] >= 0 && refused[i] < nodes->size) {
            leave(choice, place_of(choice, nodes->data[refused[i]]), ndk_reason());
            *found = true;
        }
    free(refused);
    return code;
}

static void leave_all(struct choice *choice, const struct tfl_ints *nodes, const char *reason)
{
    for (int i = 0; i < nodes->size; i++)
        leave(choice, place_of(choice, nodes->data[i]), reason);
}

/* Whether the driver cannot be had, so that asking for other nodes is of no use. */
static bool is_gone(int code)
{
    return code == ANEURALNETWORKS_DEAD_OBJECT || code == ANEURALNETWORKS_UNAVAILABLE_DEVICE ||
           code == ANEURALNETWORKS_OUT_OF_MEMORY;
}

/* Leaves what the driver does not translate of the whole graph. */
static int survey(struct choice *choice)
{
    struct dlg_graph graph;
    struct tfl_ints *nodes = taken(choice);
    bool found;
    int code = ANEURALNETWORKS_NO_ERROR;
    if (!nodes)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    if (nodes->size) {
        if (dlg_make_graph(choice->context, nodes->data, (size_t)nodes->size, NULL, &graph)) {
            code = leave_refused(choice, nodes, &graph, &found);
            dlg_free_graph(&graph);
        } else {
            code = ANEURALNETWORKS_OUT_OF_MEMORY;
        }
    }
    free(nodes);
    return is_gone(code) ? code : ANEURALNETWORKS_NO_ERROR; /* of what else is wrong, its part will hear */
}

/* -- compiling parts ------------------------------------------------------------------------------------------------- */
static bool is_compiled(const struct dlg_delegate *delegate, const struct tfl_ints *nodes)
{
    for (size_t i = 0; i < delegate->found_count; i++)
        if (dlg_is_same(delegate->found[i].nodes, nodes))
            return true;
    return false;
}

static int keep(struct dlg_delegate *delegate, const struct tfl_ints *nodes, const struct dlg_graph *graph,
                const struct dlg_model *model)
{
    struct dlg_found *more = realloc(delegate->found, (delegate->found_count + 1) * sizeof *more);
    struct tfl_ints *copy = dlg_copy(nodes);
    if (more)
        delegate->found = more;
    if (!more || !copy) {
        free(copy);
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    }
    delegate->found[delegate->found_count++] = (struct dlg_found){copy, *graph, *model};
    return ANEURALNETWORKS_NO_ERROR;
}

/* Compiles a part, or leaves those of its nodes that stand in the way. */
static int try_part(struct choice *choice, const struct tfl_part *part, bool may_split)
{
    struct dlg_graph graph;
    struct dlg_model model = {0};
    char reason[LINE_BYTES];
    bool found = false;
    if (!dlg_make_graph(choice->context, part->nodes->data, (size_t)part->nodes->size, part->outputs, &graph))
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    int code = dlg_compile(&choice->delegate->options, choice->context, &graph, &model);
    if (!code)
        code = keep(choice->delegate, part->nodes, &graph, &model);
    if (!code)
        return code;
    snprintf(reason, sizeof reason, "%s", ndk_reason());
    if (!is_gone(code)) {
        code = may_split ? leave_refused(choice, part->nodes, &graph, &found) : ANEURALNETWORKS_NO_ERROR;
        if (!is_gone(code))
            code = ANEURALNETWORKS_NO_ERROR;
        if (!code && !found)
            leave_all(choice, part->nodes, reason);
    }
    dlg_free_graph(&graph);
    dlg_free_model(&model);
    return code;
}

/* Compiles the parts that the nodes fall into; *settled: all of them were. */
static int try_parts(struct choice *choice, int round, bool *settled)
{
    struct tfl_ints *nodes = taken(choice);
    struct tfl_part *parts = NULL;
    int count = 0, code = ANEURALNETWORKS_NO_ERROR;
    if (!nodes)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    if (nodes->size && choice->context->preview(choice->context, nodes, &parts, &count) != TFL_OK)
        code = ANEURALNETWORKS_OP_FAILED;
    for (int i = 0; !code && i < count; i++)
        if (!is_compiled(choice->delegate, parts[i].nodes))
            code = try_part(choice, &parts[i], round < MOST_ROUNDS);
    choice->parts = (size_t)count;
    struct tfl_ints *now = taken(choice);
    *settled = dlg_is_same(nodes, now);
    free(nodes);
    free(now);
    return code;
}

static int choose(struct choice *choice)
{
    struct tfl_node *node;
    struct tfl_registration *registration;
    const char *reason;
    for (int i = 0; i < choice->plan->size; i++) {
        choice->takes[i] = true;
        choice->context->get_node(choice->context, choice->plan->data[i], &node, &registration);
        if (!dlg_can_take(choice->context, node, registration, &reason))
            leave(choice, i, reason);
    }
    int code = survey(choice);
    bool settled = false;
    for (int round = 0; !code && !settled; round++) /* each leaves nodes, so there is an end */
        code = try_parts(choice, round, &settled);
    return code;
}

static int replace(struct choice *choice)
{
    char line[LINE_BYTES];
    struct tfl_ints *nodes = taken(choice);
    if (!nodes)
        return TFL_ERROR;
    int size = snprintf(line, sizeof line, "%d of %d nodes in %zu parts%s%s", nodes->size, choice->plan->size,
                        choice->parts, *choice->refused ? "; " : "", choice->refused);
    ndk_log("delegate takes", line, (size_t)size < sizeof line ? (size_t)size : sizeof line - 1);
    int status = nodes->size ? choice->context->replace(choice->context, dlg_registration(), nodes,
                                                        &choice->delegate->base) : TFL_OK;
    free(nodes);
    return status;
}

/* What becomes of a graph that the driver does not have whole. */
static int settle(struct choice *choice, int code)
{
    bool allows = choice->delegate->options.allows_fallback;
    if (code) {
        const char *reason = code == ANEURALNETWORKS_DEAD_OBJECT ? "the driver's process has ended" : ndk_reason();
        if (!allows) {
            dlg_report(choice->context, "the graph cannot be compiled", reason);
            return TFL_DELEGATE_ERROR;
        }
        /* Not to the runtime: from Python it keeps reports for itself where nothing fails. */
        fprintf(stderr, "nnfast: the graph stays with LiteRT: %s\n", reason);
        return TFL_OK;
    }
    if (*choice->refused && !allows) {
        dlg_report(choice->context, "allow_fallback is false", choice->refused);
        return TFL_DELEGATE_ERROR;
    }
    return replace(choice);
}

static int prepare(struct tfl_context *context, struct tfl_delegate *base)
{
    struct choice choice = {.delegate = base->data, .context = context};
    struct tfl_ints *plan;
    const char *misfit = dlg_misfit(context);
    if (misfit) {
        fprintf(stderr, "nnfast: this runtime is refused: %s\n", misfit);
        return TFL_DELEGATE_ERROR;
    }
    if (context->get_plan(context, &plan) != TFL_OK)
        return TFL_ERROR;
    choice.plan = dlg_copy(plan); /* the next question for it would replace it */
    choice.takes = choice.plan ? calloc((size_t)choice.plan->size + 1, sizeof *choice.takes) : NULL;
    int status = choice.takes ? settle(&choice, choose(&choice)) : TFL_ERROR;
    dlg_free_found(choice.delegate);
    free(choice.takes);
    free(choice.plan);
    return status;
}

/* -- entry points ---------------------------------------------------------------------------------------------------- */
static bool is_one_of(const char *value, const char *const *known)
{
    for (; *known; known++)
        if (!strcmp(value, *known))
            return true;
    return false;
}

/* Sets an option; false if there is no such value. */
static bool set(struct dlg_options *options, const char *key, const char *value)
{
    static const char *const devices[] = {"nnfast", "nnapi-reference", NULL};
    static const char *const precisions[] = {"exact", "bf16", NULL};
    static const char *const priorities[] = {"low", "medium", "high", NULL};
    char *end;
    if (!strcmp(key, "device")) {
        options->is_reference = !strcmp(value, "nnapi-reference");
        return is_one_of(value, devices);
    }
    if (!strcmp(key, "num_threads")) {
        long number = strtol(value, &end, 10);
        options->num_threads = (int)number;
        return *value && !*end && number >= 0 && number <= MOST_THREADS;
    }
    if (!strcmp(key, "precision")) {
        options->is_bf16 = !strcmp(value, "bf16");
        return is_one_of(value, precisions);
    }
    if (!strcmp(key, "priority")) {
        for (const char *const *known = priorities; *known; known++)
            if (!strcmp(value, *known))
                options->priority = *known;
        return is_one_of(value, priorities);
    }
    if (!strcmp(key, "cache_dir")) {
        free(options->cache_dir);
        options->cache_dir = strdup(value);
        return *value && options->cache_dir;
    }
    bool is_true = !strcmp(value, "true") || !strcmp(value, "True") || !strcmp(value, "1");
    options->allows_fallback = is_true;
    return is_true || !strcmp(value, "false") || !strcmp(value, "False") || !strcmp(value, "0");
}

static const struct {
    const char *name, *values;
} known[] = {
    {"device", "nnfast or nnapi-reference"},
    {"num_threads", "a number from 0, which means as many as the driver has, to 1024"},
    {"precision", "exact or bf16"},
    {"priority", "low, medium or high"},
    {"cache_dir", "a folder"},
    {"allow_fallback", "true or false"},
};

static bool parse(struct dlg_options *options, const char *key, const char *value, char line[LINE_BYTES])
{
    size_t used = (size_t)snprintf(line, LINE_BYTES, "nnfast: there is no option '%.100s'; there are", key ? key : "");
    for (size_t i = 0; key && value && i < sizeof known / sizeof *known; i++)
        if (!strcmp(key, known[i].name)) {
            if (set(options, key, value))
                return true;
            snprintf(line, LINE_BYTES, "nnfast: option %s is '%.100s', must be %s", key, value, known[i].values);
            return false;
        }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        used += (size_t)snprintf(line + used, LINE_BYTES - used, "%s %s", i ? "," : "", known[i].name);
    return false;
}

EXPORTED struct tfl_delegate *tflite_plugin_create_delegate(char **keys, char **values, size_t count,
                                                            void (*report)(const char *text));
EXPORTED void tflite_plugin_destroy_delegate(struct tfl_delegate *delegate);

struct tfl_delegate *tflite_plugin_create_delegate(char **keys, char **values, size_t count,
                                                   void (*report)(const char *text))
{
    char line[LINE_BYTES];
    struct dlg_delegate *delegate = calloc(1, sizeof *delegate);
    if (!delegate) {
        if (report)
            report("nnfast: there is no memory for a delegate");
        return NULL;
    }
    delegate->base = (struct tfl_delegate){.data = delegate, .prepare = prepare, .flags = TFL_ALLOWS_DYNAMIC_TENSORS};
    delegate->options = (struct dlg_options){.priority = "medium", .allows_fallback = true};
    for (size_t i = 0; i < count; i++)
        if (!parse(&delegate->options, keys[i], values[i], line)) {
            if (report)
                report(line);
            free(delegate->options.cache_dir);
            free(delegate);
            return NULL;
        }
    return &delegate->base;
}

void tflite_plugin_destroy_delegate(struct tfl_delegate *delegate)
{
    if (delegate) {
        dlg_free_found(delegate->data);
        free(((struct dlg_delegate *)delegate->data)->options.cache_dir);
        free(delegate->data);
    }
}
