/* Whether a runtime has its structures where tflite.h has them. */
#ifndef DELEGATE_LAYOUT_H
#define DELEGATE_LAYOUT_H

#include "tflite.h"

/* Looks at a graph without trusting any of its pointers; NULL if everything is as it should be, else what is not. */
const char *dlg_misfit(struct tfl_context *context);

#endif
