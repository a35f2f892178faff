/* How the driver gets a part of a graph: from the files of a cache, or from the part itself. */
#ifndef DELEGATE_PREPARE_H
#define DELEGATE_PREPARE_H

#include "driver.h"
#include "ndk/connection.h"

/* The extents of a shape; is_place: of an array in the arena. */
void dlg_put_shape(struct ndk_buffer *message, const struct tfl_ints *shape, bool is_place);

/* A prepared model, from the files of the cache if there are some that the driver takes; the answer is Prepared. */
int dlg_prepare(struct ndk_connection *connection, const struct dlg_options *options,
                const struct tfl_context *context, const struct dlg_graph *graph, struct ndk_reader *answer);

#endif
