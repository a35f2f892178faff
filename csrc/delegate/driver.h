/* Parts of a graph in the driver's process: what it can compute of them, compiled, and run. */
#ifndef DELEGATE_DRIVER_H
#define DELEGATE_DRIVER_H

#include "graph.h"
#include "ndk/await.h"
#include "ndk/msgpack.h"
#include "ndk/session.h"

/* What the user asks for. cache_dir: folder for compiled models, NULL for none. */
struct dlg_options {
    const char *priority;
    char *cache_dir;
    int num_threads;
    bool is_bf16, is_reference, allows_fallback;
};

/* An input or output of a model. item_bytes: in the driver, whose int32 may stand for TFLite's int64; shape: of an
 * input that which the model was compiled for, of an output NULL where only runs tell; offset, size: in the arena. */
struct dlg_port {
    size_t item_bytes, offset, size;
    struct tfl_ints *shape;
};

/* A compiled part. session: NULL if there is none. */
struct dlg_model {
    struct ndk_session *session;
    int64_t number;
    struct dlg_port *inputs, *outputs;
    size_t input_count, output_count, arena_size;
    bool has_shapes; /* of its outputs */
    struct ndk_buffer run;
    struct ndk_waiting waiting;
};

/* Codes are those of ResultCode; ndk_reason() has the line of what was refused. */

/* Operators of a file that the driver does not translate: their numbers, which the caller frees. */
int dlg_survey(const struct dlg_options *options, const struct dlg_graph *graph, int **refused, size_t *count);

/* Compiles a file for the shapes that its inputs have now. */
int dlg_compile(const struct dlg_options *options, const struct tfl_context *context, const struct dlg_graph *graph,
                struct dlg_model *model);

/* Whether it was compiled for these shapes. */
bool dlg_is_for(const struct dlg_model *model, const struct tfl_context *context, const struct dlg_graph *graph);

/* Takes a result of a run, whose bytes must be copied; false if that is not possible. shape: the taker's to free. */
typedef bool dlg_taker(void *receiver, size_t output, struct tfl_ints *shape, const uint8_t *data);

/* Runs a model on the values of the tensors. */
int dlg_run(struct dlg_model *model, const struct tfl_context *context, const struct dlg_graph *graph, dlg_taker *take,
            void *receiver);

void dlg_free_model(struct dlg_model *model);

#endif
