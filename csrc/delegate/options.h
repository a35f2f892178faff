/* Operators and their options (options.inc). */
#ifndef DELEGATE_OPTIONS_H
#define DELEGATE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flatbuffer.h"

enum dlg_kind { DLG_BOOL, DLG_INT, DLG_LONG, DLG_FLOAT, DLG_ENUM, DLG_KIND, DLG_INTS, DLG_LONGS, DLG_FLOATS, DLG_FROM };

struct dlg_member {
    enum dlg_kind kind;
    int slot; /* DLG_FROM: version */
};

struct dlg_operator {
    const char *name;
    int code, number, which; /* which: union, 0: no options */
    const struct dlg_member *members;
    size_t count;
};

/* The operator of a builtin code; NULL if it stays with TFLite. */
const struct dlg_operator *dlg_operator(int code);

/* Writes the table of an operator's options, which TFLite has at `options`; returns where it is. */
size_t dlg_put_options(struct fb *fb, const struct dlg_operator *operator, int version, const void *options);

/* Whether the options are such that the file can hold them. */
bool dlg_can_put(const struct dlg_operator *operator, int version, const void *options);

#endif
