/* Events, and the ways to compute that return one.
 *
 * A run behind dependencies waits for them and computes within the call, and its event has no fence: the standard allows that. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "execution.h"

/* execution: what its thread computes; fenced: what is completed by the first wait. fence: of somebody else, or -1. */
struct ANeuralNetworksEvent {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_done;
    int code, fence;
    ANeuralNetworksExecution *execution, *fenced;
};

static ANeuralNetworksEvent *create(void)
{
    ANeuralNetworksEvent *event = calloc(1, sizeof *event);
    if (event) {
        pthread_mutex_init(&event->lock, NULL);
        pthread_cond_init(&event->ended, NULL);
        event->fence = -1;
    }
    return event;
}

static void destroy(ANeuralNetworksEvent *event)
{
    if (event->fence >= 0)
        close(event->fence);
    pthread_cond_destroy(&event->ended);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

/* Waits for a sync fence: readable when it has signalled, POLLERR when it did so for an error. */
static int wait_for_fence(int fence)
{
    struct pollfd wait = {.fd = fence, .events = POLLIN};
    int ready;
    do
        ready = poll(&wait, 1, -1);
    while (ready < 0 && (errno == EINTR || errno == EAGAIN));
    return ready > 0 && !(wait.revents & (POLLERR | POLLNVAL)) ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OP_FAILED;
}

static int wait_for(ANeuralNetworksEvent *event)
{
    if (event->fence >= 0)
        return wait_for_fence(event->fence);
    pthread_mutex_lock(&event->lock);
    while (!event->is_done)
        pthread_cond_wait(&event->ended, &event->lock);
    ANeuralNetworksExecution *fenced = event->fenced;
    event->fenced = NULL;
    int code = event->code;
    if (fenced)
        ndk_end(fenced, code);
    pthread_mutex_unlock(&event->lock);
    return code;
}

int ANeuralNetworksEvent_wait(ANeuralNetworksEvent *event)
{
    return event ? wait_for(event) : ANEURALNETWORKS_UNEXPECTED_NULL;
}

void ANeuralNetworksEvent_free(ANeuralNetworksEvent *event)
{
    if (!event)
        return;
    wait_for(event);
    destroy(event);
}

int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent **event)
{
    if (!event)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *event = NULL;
    if (sync_fence_fd <= 0)
        return ANEURALNETWORKS_BAD_DATA;
    ANeuralNetworksEvent *made = create();
    if (!made)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    made->fence = fcntl(sync_fence_fd, F_DUPFD_CLOEXEC, 1);
    if (made->fence < 0) {
        destroy(made);
        return ANEURALNETWORKS_BAD_DATA;
    }
    *event = made;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent *event, int *sync_fence_fd)
{
    if (!sync_fence_fd)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *sync_fence_fd = -1;
    if (!event)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (event->fence >= 0)
        *sync_fence_fd = fcntl(event->fence, F_DUPFD_CLOEXEC, 1);
    return *sync_fence_fd >= 0 ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_DATA;
}

/* -- in the background ----------------------------------------------------------------------------------------------- */
/* What a run in the background reports: it passes through the statuses of a driver, which are fewer. */
static int coarse(int code)
{
    switch (code) {
    case ANEURALNETWORKS_UNEXPECTED_NULL: return ANEURALNETWORKS_BAD_DATA;
    case ANEURALNETWORKS_OUT_OF_MEMORY:
    case ANEURALNETWORKS_INCOMPLETE:
    case ANEURALNETWORKS_BAD_STATE:
    case ANEURALNETWORKS_UNMAPPABLE:
    case ANEURALNETWORKS_DEAD_OBJECT: return ANEURALNETWORKS_OP_FAILED;
    default: return code;
    }
}

static void *compute(void *argument)
{
    ANeuralNetworksEvent *event = argument;
    ANeuralNetworksExecution *execution = event->execution;
    int code = coarse(ndk_run(execution, execution->timeout));
    /* The execution first: whoever has waited for the event may free both. */
    pthread_mutex_lock(&event->lock);
    event->code = ndk_end(execution, code);
    event->is_done = true;
    pthread_cond_broadcast(&event->ended);
    pthread_mutex_unlock(&event->lock);
    return NULL;
}

int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution *execution, ANeuralNetworksEvent **event)
{
    pthread_t thread;
    pthread_attr_t detached;
    if (!event)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *event = NULL;
    if (!execution)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = ndk_begin(execution);
    if (code)
        return code;
    if (!ndk_is_complete(execution))
        return ndk_end(execution, ANEURALNETWORKS_BAD_DATA);
    ANeuralNetworksEvent *made = create();
    if (!made)
        return ndk_end(execution, ANEURALNETWORKS_OUT_OF_MEMORY);
    made->execution = execution;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, compute, made))
        compute(made); /* no thread is to be had: at once, then */
    pthread_attr_destroy(&detached);
    *event = made;
    return ANEURALNETWORKS_NO_ERROR;
}

/* -- behind others --------------------------------------------------------------------------------------------------- */
/* Nanoseconds left of a duration that began at `since`; 0 for none; 1 if it is over. */
static uint64_t rest(uint64_t duration, const struct timespec *since)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t gone = (uint64_t)(now.tv_sec - since->tv_sec) * UINT64_C(1000000000) + (uint64_t)now.tv_nsec -
                    (uint64_t)since->tv_nsec;
    return !duration ? 0 : gone < duration ? duration - gone : 1;
}

/* What the standard asks of a run behind fences, besides its arguments. */
static int check_fenced(const ANeuralNetworksExecution *execution, uint64_t duration)
{
    if (!ndk_is_complete(execution) || (duration && !execution->compilation->is_single))
        return ANEURALNETWORKS_BAD_DATA;
    for (uint32_t i = 0; i < execution->compilation->model->output_count; i++)
        if (execution->outputs[i].place != NDK_NOTHING && !execution->outputs[i].size)
            return ANEURALNETWORKS_BAD_DATA;
    return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksExecution_startComputeWithDependencies(ANeuralNetworksExecution *execution,
                                                          const ANeuralNetworksEvent *const *dependencies,
                                                          uint32_t num_dependencies, uint64_t duration,
                                                          ANeuralNetworksEvent **event)
{
    struct timespec began;
    if (!event)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *event = NULL;
    if (!execution || (!dependencies && num_dependencies))
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    for (uint32_t i = 0; i < num_dependencies; i++)
        if (!dependencies[i])
            return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = ndk_begin(execution);
    if (code)
        return code;
    code = check_fenced(execution, duration);
    ANeuralNetworksEvent *made = code ? NULL : create();
    if (!made)
        return ndk_end(execution, code ? code : ANEURALNETWORKS_OUT_OF_MEMORY);
    clock_gettime(CLOCK_MONOTONIC, &began);
    /* A fence that failed fails the run; the results of other runs are theirs. */
    for (uint32_t i = 0; i < num_dependencies; i++) {
        ANeuralNetworksEvent *before = (ANeuralNetworksEvent *)(uintptr_t)dependencies[i];
        int result = wait_for(before);
        if (before->fence >= 0 && result)
            code = result;
    }
    uint64_t left = rest(execution->timeout, &began);
    if (duration && (!left || duration < left))
        left = duration;
    if (!code)
        code = ndk_run(execution, left);
    if (code) {
        destroy(made);
        return ndk_end(execution, code);
    }
    made->is_done = true;
    made->fenced = execution;
    *event = made;
    return ANEURALNETWORKS_NO_ERROR;
}

/* -- at once --------------------------------------------------------------------------------------------------------- */
int ANeuralNetworksExecution_compute(ANeuralNetworksExecution *execution)
{
    if (!execution)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = ndk_begin(execution);
    return code ? code : ndk_end(execution, ndk_run(execution, execution->timeout));
}
