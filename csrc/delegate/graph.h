/* A part of a graph of TFLite as a file of TFLite, for the driver. */
#ifndef DELEGATE_GRAPH_H
#define DELEGATE_GRAPH_H

#include "tflite.h"

/* fd: a sealed memfd; inputs, outputs: numbers of the tensors that the part reads from others and gives to them, in the
 * order of the file; shapes: of the inputs in the file; is_free: outputs of custom operators, of which no dimensions
 * mean that the file does not know them. is_open: some sizes of the file are not known, so that they must
 * be inferred. */
struct dlg_graph {
    int fd;
    int *inputs, *outputs;
    size_t input_count, output_count;
    struct tfl_ints **shapes;
    bool *is_free, is_open;
};

/* Whether a node may be part of such a file; if not, *reason says why, in words that stay. */
bool dlg_can_take(const struct tfl_context *context, const struct tfl_node *node,
                  const struct tfl_registration *registration, const char **reason);

/* Makes the file of some nodes, which are in the order of execution and may all be taken. outputs: tensors that others
 * read; NULL: what none of these nodes reads. False if there is no memory for it. */
bool dlg_make_graph(struct tfl_context *context, const int *nodes, size_t count, const struct tfl_ints *outputs,
                    struct dlg_graph *graph);
void dlg_free_graph(struct dlg_graph *graph);

/* A copy of a shape, which free() takes; NULL without memory. */
struct tfl_ints *dlg_copy(const struct tfl_ints *ints);
bool dlg_is_same(const struct tfl_ints *one, const struct tfl_ints *other);

/* Whether a tensor's values are part of the model; whether its size is known before its values are. */
bool dlg_is_constant(const struct tfl_tensor *tensor);
bool dlg_is_sized(const struct tfl_tensor *tensor);

/* Bytes of one element; 0 for types of no fixed size and those that nnfast lacks. */
size_t dlg_item_bytes(int type);

#endif
