#include "cases.h"
#include <poll.h>
#include <sys/eventfd.h>

static Model *model;
static Compilation *compilation;

static void begin(void)
{
    model = plain_add();
    compilation = compiled(model);
}

static void end(void)
{
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void start_compute(void)
{
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    Event *event = (Event *)1;
    int fence = 7;
    begin();
    Execution *execution = new_execution(compilation);
    IS(ANeuralNetworksExecution_startCompute(NULL, &event), N);
    TRUE_(!event);
    IS(ANeuralNetworksExecution_startCompute(execution, NULL), N);
    IS(ANeuralNetworksEvent_wait(NULL), N);
    give(execution, &sums);
    IS(ANeuralNetworksExecution_startCompute(execution, &event), OK);
    IS(ANeuralNetworksEvent_getSyncFenceFd(event, &fence), D);
    IS(fence, -1);
    IS(ANeuralNetworksExecution_setLoopTimeout(execution, 1), S);
    IS(ANeuralNetworksEvent_wait(event), OK);
    IS(ANeuralNetworksEvent_wait(event), OK);
    TRUE_(sums.z[0] == 4);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksEvent_free(event);
    /* an event that nobody has waited for */
    execution = new_execution(compilation);
    give(execution, &sums);
    IS(ANeuralNetworksExecution_startCompute(execution, &event), OK);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksEvent_free(NULL);
    end();
}

static void sync_fences(void)
{
    Event *event = (Event *)1;
    int fence = 7, own = eventfd(0, EFD_CLOEXEC);
    IS(ANeuralNetworksEvent_createFromSyncFenceFd(-1, &event), D);
    TRUE_(!event);
    IS(ANeuralNetworksEvent_createFromSyncFenceFd(0, &event), D);
    IS(ANeuralNetworksEvent_createFromSyncFenceFd(own, NULL), N);
    IS(ANeuralNetworksEvent_getSyncFenceFd(NULL, &fence), N);
    IS(fence, -1);
    IS(ANeuralNetworksEvent_createFromSyncFenceFd(own, &event), OK);
    IS(ANeuralNetworksEvent_getSyncFenceFd(event, NULL), N);
    IS(ANeuralNetworksEvent_getSyncFenceFd(event, &fence), OK);
    TRUE_(fence >= 0 && fence != own);
    IS(eventfd_write(own, 1), 0);
    IS(ANeuralNetworksEvent_wait(event), OK);
    close(fence);
    close(own);
    ANeuralNetworksEvent_free(event);
}

/* What a poll of an event's fence reports: 0, POLLIN or POLLERR. */
static int state_of(const Event *event)
{
    struct pollfd state = {.fd = -1, .events = POLLIN};
    IS(ANeuralNetworksEvent_getSyncFenceFd(event, &state.fd), OK);
    poll(&state, 1, 0);
    close(state.fd);
    return state.revents & POLLERR ? POLLERR : state.revents & POLLIN;
}

static void failed_fence(void)
{
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    Event *event, *after = (Event *)1;
    int ends[2];
    begin();
    IS(pipe(ends), 0);
    /* The writing end of a pipe that nobody reads polls as an error. */
    IS(ANeuralNetworksEvent_createFromSyncFenceFd(ends[1], &event), OK);
    close(ends[0]);
    IS(ANeuralNetworksEvent_wait(event), F);
    Execution *execution = new_execution(compilation);
    give(execution, &sums);
    const Event *before[] = {event};
    IS(ANeuralNetworksExecution_startComputeWithDependencies(execution, before, 1, 0, &after), OK);
    /* What waits for it fails, too, and its fence tells so. */
    Execution *third = new_execution(compilation);
    const Event *failed[] = {after};
    Event *last;
    give(third, &sums);
    IS(ANeuralNetworksExecution_startComputeWithDependencies(third, failed, 1, 0, &last), OK);
    IS(ANeuralNetworksEvent_wait(after), F);
    IS(ANeuralNetworksEvent_wait(last), F);
    IS(state_of(last), POLLERR);
    TRUE_(sums.z[0] == 0);
    close(ends[1]);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksEvent_free(after);
    ANeuralNetworksEvent_free(last);
    ANeuralNetworksExecution_free(third);
    ANeuralNetworksExecution_free(execution);
    end();
}

static void dependencies(void)
{
    struct sums first = {{1, 2}, {3, 4}, {0}, 0}, second = {{5, 6}, {7, 8}, {0}, 0};
    Event *event, *next = NULL;
    int fence = 7;
    begin();
    Execution *one = new_execution(compilation), *two = new_execution(compilation);
    give(one, &first);
    give(two, &second);
    IS(ANeuralNetworksExecution_startComputeWithDependencies(one, NULL, 0, 0, &event), OK);
    IS(ANeuralNetworksEvent_getSyncFenceFd(event, NULL), N);
    IS(ANeuralNetworksEvent_getSyncFenceFd(event, &fence), OK);
    TRUE_(fence >= 0);
    close(fence);
    const Event *list[] = {event, event}, *none[] = {event, NULL};
    IS(ANeuralNetworksExecution_startComputeWithDependencies(NULL, list, 1, 0, &next), N);
    IS(ANeuralNetworksExecution_startComputeWithDependencies(two, NULL, 1, 0, &next), N);
    IS(ANeuralNetworksExecution_startComputeWithDependencies(two, list, 1, 0, NULL), N);
    IS(ANeuralNetworksExecution_startComputeWithDependencies(two, none, 2, 0, &next), N);
    IS(ANeuralNetworksExecution_setReusable(one, true), S); /* it runs until somebody waits */
    IS(ANeuralNetworksExecution_startComputeWithDependencies(two, list, 2, 0, &next), OK);
    IS(ANeuralNetworksEvent_wait(next), OK);
    TRUE_(first.z[0] == 4 && second.z[0] == 12);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksEvent_free(next);
    ANeuralNetworksExecution_free(one);
    ANeuralNetworksExecution_free(two);
    /* a limit needs a compilation for one device */
    one = new_execution(compilation);
    give(one, &first);
    IS(ANeuralNetworksExecution_startComputeWithDependencies(one, NULL, 0, 1000, &event), D);
    ANeuralNetworksExecution_free(one);
    end();
}

/* The caller does not wait: a chain of runs stands until what it depends on is signalled, and passes fences on. */
static void chain(void)
{
    enum { RUNS = 5 };
    struct sums sums[RUNS] = {{{1, 2}, {3, 4}, {0}, 0}};
    Execution *executions[RUNS];
    Event *first, *events[RUNS], *imported;
    int own = eventfd(0, EFD_CLOEXEC), fence;
    begin();
    IS(ANeuralNetworksEvent_createFromSyncFenceFd(own, &first), OK);
    for (int i = 0; i < RUNS; i++) {
        const Event *before[] = {i ? events[i - 1] : first};
        executions[i] = new_execution(compilation);
        IS(ANeuralNetworksExecution_setInput(executions[i], 0, NULL, i ? sums[i - 1].z : sums[0].x, 8), OK);
        IS(ANeuralNetworksExecution_setInput(executions[i], 1, NULL, sums[0].y, 8), OK);
        IS(ANeuralNetworksExecution_setInput(executions[i], 2, NULL, &sums[0].activation, 4), OK);
        IS(ANeuralNetworksExecution_setOutput(executions[i], 0, NULL, sums[i].z, 8), OK);
        IS(ANeuralNetworksExecution_startComputeWithDependencies(executions[i], before, 1, 0, &events[i]), OK);
        IS(state_of(events[i]), 0);
    }
    IS(ANeuralNetworksEvent_getSyncFenceFd(events[RUNS - 1], &fence), OK);
    IS(ANeuralNetworksEvent_createFromSyncFenceFd(fence, &imported), OK);
    close(fence);
    IS(eventfd_write(own, 1), 0);
    IS(ANeuralNetworksEvent_wait(imported), OK);
    IS(state_of(events[RUNS - 1]), POLLIN);
    IS(ANeuralNetworksExecution_setReusable(executions[RUNS - 1], true), S); /* until somebody waits for its event */
    for (int i = RUNS; i--;) {
        IS(ANeuralNetworksEvent_wait(events[i]), OK);
        TRUE_(sums[i].z[0] == 1 + 3 * (i + 1) && sums[i].z[1] == 2 + 4 * (i + 1));
        ANeuralNetworksEvent_free(events[i]);
        ANeuralNetworksExecution_free(executions[i]);
    }
    ANeuralNetworksEvent_free(first);
    ANeuralNetworksEvent_free(imported);
    close(own);
    end();
}

static void open_outputs_behind_fences(void)
{
    static const float x[] = {1, 2, 3, 4, 5};
    Type open = FLOAT_OF(OPEN), five = FLOAT_OF(FIVE);
    float z[5];
    int32_t none = 0;
    Event *event;
    model = finished(add_model(open, open, open));
    compilation = compiled(model);
    for (int is_given = 0; is_given < 2; is_given++) {
        Execution *execution = new_execution(compilation);
        IS(ANeuralNetworksExecution_setInput(execution, 0, &five, x, 20), OK);
        IS(ANeuralNetworksExecution_setInput(execution, 1, &five, x, 20), OK);
        IS(ANeuralNetworksExecution_setInput(execution, 2, NULL, &none, 4), OK);
        IS(ANeuralNetworksExecution_setOutput(execution, 0, is_given ? &five : NULL, z, 20), OK);
        IS(ANeuralNetworksExecution_startComputeWithDependencies(execution, NULL, 0, 0, &event), is_given ? OK : D);
        ANeuralNetworksEvent_free(event);
        ANeuralNetworksExecution_free(execution);
    }
    TRUE_(z[4] == 10);
    end();
}

static void bursts(void)
{
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    Burst *burst;
    begin();
    Compilation *other = compiled(model);
    Execution *execution = new_execution(compilation), *of_other = new_execution(other);
    give(execution, &sums);
    give(of_other, &sums);
    IS(ANeuralNetworksBurst_create(compilation, &burst), OK);
    IS(ANeuralNetworksExecution_burstCompute(execution, NULL), N);
    IS(ANeuralNetworksExecution_burstCompute(NULL, burst), N);
    IS(ANeuralNetworksExecution_burstCompute(of_other, burst), D);
    IS(ANeuralNetworksExecution_burstCompute(execution, burst), OK);
    TRUE_(sums.z[1] == 6);
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksBurst_free(NULL);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksExecution_free(of_other);
    ANeuralNetworksCompilation_free(other);
    end();
}

/* Two executions on one burst at once: each OK or BAD_STATE, at least one OK. */
struct part_of_burst {
    Execution *execution;
    Burst *burst;
    int code;
};

static void *compute_on_burst(void *argument)
{
    struct part_of_burst *part = argument;
    part->code = ANeuralNetworksExecution_burstCompute(part->execution, part->burst);
    return NULL;
}

static void two_threads_on_a_burst(void)
{
    begin();
    for (int i = 0; i < 20; i++) {
        struct sums sums[] = {{{1, 2}, {3, 4}, {0}, 0}, {{5, 6}, {7, 8}, {0}, 0}};
        Burst *burst;
        pthread_t thread;
        IS(ANeuralNetworksBurst_create(compilation, &burst), OK);
        struct part_of_burst parts[] = {{new_execution(compilation), burst, -1}, {new_execution(compilation), burst, -1}};
        give(parts[0].execution, &sums[0]);
        give(parts[1].execution, &sums[1]);
        IS(pthread_create(&thread, NULL, compute_on_burst, &parts[0]), 0);
        compute_on_burst(&parts[1]);
        pthread_join(thread, NULL);
        TRUE_(parts[0].code == OK || parts[1].code == OK);
        for (int k = 0; k < 2; k++) {
            TRUE_(parts[k].code == OK || parts[k].code == S);
            TRUE_(parts[k].code || sums[k].z[0] == sums[k].x[0] + sums[k].y[0]);
            ANeuralNetworksExecution_free(parts[k].execution);
        }
        ANeuralNetworksBurst_free(burst);
    }
    end();
}

/* A burst and a memory that it has seen end in either order. */
static void memories_and_bursts_end(void)
{
    begin();
    for (int burst_first = 0; burst_first < 2; burst_first++)
        for (int runs = 1; runs <= 20; runs += 19) { /* by messages, and through rings */
            struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
            float *bytes;
            Memory *memory = shared(8, (void **)&bytes);
            Burst *burst;
            Execution *execution = new_execution(compilation);
            IS(ANeuralNetworksBurst_create(compilation, &burst), OK);
            IS(ANeuralNetworksExecution_setReusable(execution, true), OK);
            IS(ANeuralNetworksExecution_setInput(execution, 0, NULL, sums.x, 8), OK);
            IS(ANeuralNetworksExecution_setInput(execution, 1, NULL, sums.y, 8), OK);
            IS(ANeuralNetworksExecution_setInput(execution, 2, NULL, &sums.activation, 4), OK);
            IS(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 0, 8), OK);
            for (int i = 0; i < runs; i++)
                IS(ANeuralNetworksExecution_burstCompute(execution, burst), OK);
            TRUE_(bytes[0] == 4 && bytes[1] == 6);
            ANeuralNetworksExecution_free(execution);
            if (burst_first)
                ANeuralNetworksBurst_free(burst);
            ANeuralNetworksMemory_free(memory);
            if (!burst_first)
                ANeuralNetworksBurst_free(burst);
            munmap(bytes, 8);
        }
    end();
}

/* Two threads on one execution, in all pairs of ways: each OK or BAD_STATE, at least one OK; of one that is not reusable
 * at most one. */
struct part {
    enum way way;
    Execution *execution;
    int code;
};

static void *compute_part(void *argument)
{
    struct part *part = argument;
    part->code = compute_by(part->way, part->execution, compilation);
    return NULL;
}

static void two_threads(void)
{
    begin();
    for (int reusable = 0; reusable < 2; reusable++)
        for (int pair = 0; pair < WAYS * WAYS; pair++) {
            struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
            Execution *execution = new_execution(compilation);
            struct part parts[] = {{(enum way)(pair / WAYS), execution, -1}, {(enum way)(pair % WAYS), execution, -1}};
            pthread_t thread;
            IS(ANeuralNetworksExecution_setReusable(execution, reusable), OK);
            give(execution, &sums);
            IS(pthread_create(&thread, NULL, compute_part, &parts[0]), 0);
            compute_part(&parts[1]);
            pthread_join(thread, NULL);
            for (int i = 0; i < 2; i++)
                TRUE_(parts[i].code == OK || parts[i].code == S);
            int well = (parts[0].code == OK) + (parts[1].code == OK);
            TRUE_(well == 1 || (reusable && well == 2));
            ANeuralNetworksExecution_free(execution);
        }
    end();
}

static const struct test tests[] = {
    {"start_compute", start_compute}, {"sync_fences", sync_fences}, {"failed_fence", failed_fence},
    {"dependencies", dependencies}, {"chain", chain}, {"open_outputs_behind_fences", open_outputs_behind_fences},
    {"bursts", bursts}, {"two_threads_on_a_burst", two_threads_on_a_burst},
    {"memories_and_bursts_end", memories_and_bursts_end}, {"two_threads", two_threads},
};
MAIN(tests)
