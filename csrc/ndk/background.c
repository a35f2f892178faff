/* Computing: at once, in the background, and behind others, which a thread of its own waits for. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "event.h"
#include "execution.h"

/* A run in the background. dependencies: references of its own. duration: nanoseconds from when they are met, 0 for no
 * limit; began: when it was started, which the time limit of the execution counts from. */
struct job {
    ANeuralNetworksExecution *execution;
    ANeuralNetworksEvent *event, **dependencies;
    uint32_t dependency_count;
    bool is_fenced;
    uint64_t duration;
    struct timespec began;
};

int ANeuralNetworksExecution_compute(ANeuralNetworksExecution *execution)
{
    if (!execution)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    int code = ndk_begin(execution);
    return code ? code : ndk_end(execution, ndk_run(execution, execution->timeout));
}

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

/* Nanoseconds left of a duration that began at `since`; 0 for none; 1 if it is over. */
static uint64_t rest(uint64_t duration, const struct timespec *since)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t gone = (uint64_t)(now.tv_sec - since->tv_sec) * UINT64_C(1000000000) + (uint64_t)now.tv_nsec -
                    (uint64_t)since->tv_nsec;
    return !duration ? 0 : gone < duration ? duration - gone : 1;
}

static void free_job(struct job *job)
{
    for (uint32_t i = 0; i < job->dependency_count; i++)
        ndk_event_unref(job->dependencies[i]);
    free(job->dependencies);
    free(job);
}

static void *work(void *argument)
{
    struct job *job = argument;
    ANeuralNetworksEvent *event = job->event;
    ANeuralNetworksExecution *execution = job->execution;
    bool is_fenced = job->is_fenced;
    int code = ANEURALNETWORKS_NO_ERROR;
    for (uint32_t i = 0; i < job->dependency_count; i++) {
        int result = ndk_event_await(job->dependencies[i]);
        code = code ? code : result;
    }
    uint64_t left = rest(execution->timeout, &job->began);
    if (job->duration && (!left || job->duration < left))
        left = job->duration;
    if (!code)
        code = ndk_run(execution, left);
    free_job(job);
    ndk_event_signal(event, is_fenced ? NULL : execution, coarse(code));
    ndk_event_unref(event);
    return NULL;
}

/* Starts what was begun; takes the job, whatever comes of it. */
static int start(struct job *job, ANeuralNetworksEvent **event)
{
    pthread_t thread;
    pthread_attr_t detached;
    ANeuralNetworksExecution *execution = job->execution;
    ANeuralNetworksEvent *made = ndk_event(job->is_fenced ? execution : NULL);
    if (!made) {
        free_job(job);
        return ndk_end(execution, ANEURALNETWORKS_OUT_OF_MEMORY);
    }
    job->event = made;
    ndk_event_ref(made); /* the thread's */
    clock_gettime(CLOCK_MONOTONIC, &job->began);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, work, job))
        work(job); /* no thread is to be had: at once, then */
    pthread_attr_destroy(&detached);
    *event = made;
    return ANEURALNETWORKS_NO_ERROR;
}

static struct job *new_job(ANeuralNetworksExecution *execution, const ANeuralNetworksEvent *const *dependencies,
                           uint32_t count)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->execution = execution;
    job->dependencies = malloc((count + (size_t)1) * sizeof *job->dependencies);
    if (!job->dependencies) {
        free(job);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        job->dependencies[i] = (ANeuralNetworksEvent *)(uintptr_t)dependencies[i];
        ndk_event_ref(job->dependencies[i]);
    }
    job->dependency_count = count;
    return job;
}

int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution *execution, ANeuralNetworksEvent **event)
{
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
    struct job *job = new_job(execution, NULL, 0);
    return job ? start(job, event) : ndk_end(execution, ANEURALNETWORKS_OUT_OF_MEMORY);
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
    if (code)
        return ndk_end(execution, code);
    struct job *job = new_job(execution, dependencies, num_dependencies);
    if (!job)
        return ndk_end(execution, ANEURALNETWORKS_OUT_OF_MEMORY);
    job->is_fenced = true;
    job->duration = duration;
    return start(job, event);
}
