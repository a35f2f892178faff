/* Events. A run behind others has a fence once somebody asks for it: the end of a pair of sockets, which fails if this
 * process ends before it is signalled. */
#define _GNU_SOURCE
#include "event.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "execution.h"

/* lock: of all that changes. is_run: of an execution behind others, which is completed by the first wait (fenced). fence:
 * somebody else's, or the own one that was asked for; other_end: of the latter, until it is signalled. */
struct ANeuralNetworksEvent {
    atomic_int references;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_done, is_run, is_foreign;
    int code, fence, other_end;
    ANeuralNetworksExecution *fenced;
};

ANeuralNetworksEvent *ndk_event(ANeuralNetworksExecution *fenced)
{
    ANeuralNetworksEvent *event = calloc(1, sizeof *event);
    if (!event)
        return NULL;
    pthread_mutex_init(&event->lock, NULL);
    pthread_cond_init(&event->ended, NULL);
    event->references = 1;
    event->fence = event->other_end = -1;
    event->fenced = fenced;
    event->is_run = fenced != NULL;
    return event;
}

void ndk_event_ref(ANeuralNetworksEvent *event)
{
    event->references++;
}

void ndk_event_unref(ANeuralNetworksEvent *event)
{
    if (--event->references)
        return;
    if (event->fence >= 0)
        close(event->fence);
    if (event->other_end >= 0)
        close(event->other_end);
    pthread_cond_destroy(&event->ended);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

/* -- the own fence --------------------------------------------------------------------------------------------------- */
/* A fence is readable when it is signalled. It has sent one byte: if the other end goes while that is unread, the kernel
 * reports a connection that was reset, which is POLLERR. */
static void signal_fence(ANeuralNetworksEvent *event)
{
    char byte = 0;
    if (event->other_end < 0)
        return;
    if (!event->code && send(event->other_end, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
        (void)!recv(event->other_end, &byte, 1, MSG_DONTWAIT);
    close(event->other_end);
    event->other_end = -1;
}

static bool make_fence(ANeuralNetworksEvent *event)
{
    int ends[2];
    char byte = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return false;
    if (send(ends[0], &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    shutdown(ends[1], SHUT_RD); /* what has arrived stays; nobody can send more */
    event->fence = ends[0];
    event->other_end = ends[1];
    if (event->is_done)
        signal_fence(event);
    return true;
}

int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent *event, int *sync_fence_fd)
{
    ANeuralNetworksEvent *asked = (ANeuralNetworksEvent *)(uintptr_t)event;
    if (!sync_fence_fd)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *sync_fence_fd = -1;
    if (!event)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    pthread_mutex_lock(&asked->lock);
    if (asked->fence >= 0 || (asked->is_run && make_fence(asked)))
        *sync_fence_fd = fcntl(asked->fence, F_DUPFD_CLOEXEC, 1);
    pthread_mutex_unlock(&asked->lock);
    return *sync_fence_fd >= 0 ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_DATA;
}

/* -- the end --------------------------------------------------------------------------------------------------------- */
void ndk_event_signal(ANeuralNetworksEvent *event, ANeuralNetworksExecution *execution, int code)
{
    pthread_mutex_lock(&event->lock);
    event->code = execution ? ndk_end(execution, code) : code;
    event->is_done = true;
    signal_fence(event);
    pthread_cond_broadcast(&event->ended);
    pthread_mutex_unlock(&event->lock);
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

/* completes: the execution behind it, too. */
static int wait_for(ANeuralNetworksEvent *event, bool completes)
{
    if (event->is_foreign)
        return wait_for_fence(event->fence);
    pthread_mutex_lock(&event->lock);
    while (!event->is_done)
        pthread_cond_wait(&event->ended, &event->lock);
    int code = event->code;
    if (completes && event->fenced) {
        ndk_end(event->fenced, code);
        event->fenced = NULL;
    }
    pthread_mutex_unlock(&event->lock);
    return code;
}

int ndk_event_await(ANeuralNetworksEvent *event)
{
    int code = wait_for(event, false);
    return code && (event->is_foreign || event->is_run) ? ANEURALNETWORKS_OP_FAILED : ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksEvent_wait(ANeuralNetworksEvent *event)
{
    return event ? wait_for(event, true) : ANEURALNETWORKS_UNEXPECTED_NULL;
}

void ANeuralNetworksEvent_free(ANeuralNetworksEvent *event)
{
    if (!event)
        return;
    wait_for(event, true);
    ndk_event_unref(event);
}

int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent **event)
{
    if (!event)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *event = NULL;
    if (sync_fence_fd <= 0)
        return ANEURALNETWORKS_BAD_DATA;
    ANeuralNetworksEvent *made = ndk_event(NULL);
    if (!made)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    made->is_foreign = true;
    made->fence = fcntl(sync_fence_fd, F_DUPFD_CLOEXEC, 1);
    if (made->fence < 0) {
        ndk_event_unref(made);
        return ANEURALNETWORKS_BAD_DATA;
    }
    *event = made;
    return ANEURALNETWORKS_NO_ERROR;
}
