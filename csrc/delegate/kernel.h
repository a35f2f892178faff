/* What stands in TFLite's graph for a part that the driver runs. */
#ifndef DELEGATE_KERNEL_H
#define DELEGATE_KERNEL_H

#include "driver.h"

/* A part that was compiled while the graph was looked at. nodes: its own; NULL once a kernel has the rest. */
struct dlg_found {
    struct tfl_ints *nodes;
    struct dlg_graph graph;
    struct dlg_model model;
};

/* What `data` of a delegate is. found: parts that wait for their kernels. */
struct dlg_delegate {
    struct tfl_delegate base;
    struct dlg_options options;
    struct dlg_found *found;
    size_t found_count;
};

void dlg_free_found(struct dlg_delegate *delegate);

/* How kernels are registered. */
struct tfl_registration dlg_registration(void);

/* Reports a line to the runtime: the text, and why, which may be empty. */
void dlg_report(struct tfl_context *context, const char *text, const char *reason);

#endif
