/* Events: what is signalled once, with a code, or a sync fence of somebody else. */
#ifndef NDK_EVENT_H
#define NDK_EVENT_H

#include <stdbool.h>

#include "object.h"

/* A new event; signalled by whoever has made it. fenced: completed by the first wait, or NULL. */
ANeuralNetworksEvent *ndk_event(ANeuralNetworksExecution *fenced);
void ndk_event_ref(ANeuralNetworksEvent *event);
void ndk_event_unref(ANeuralNetworksEvent *event);

/* Signals an event; ends `execution` first, if there is one: whoever has waited may free it. */
void ndk_event_signal(ANeuralNetworksEvent *event, ANeuralNetworksExecution *execution, int code);

/* Waits for what a run depends on. OP_FAILED for a fence that failed; how a run of startCompute went is its own matter. */
int ndk_event_await(ANeuralNetworksEvent *event);

#endif
