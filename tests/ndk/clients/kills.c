/* A client whose driver is killed before one of its calls, or during it.
 *
 *     kills FILE CALL:MICROSECONDS...      FILE: holds the process id of the driver that serves
 *
 * For each argument it makes all its calls, with the driver killed so many microseconds after that call begins (0: before
 * it), and then all of them again with a new driver. The first call that fails must return DEAD_OBJECT (OP_FAILED from
 * an event), the second round must not fail, and no descriptor may stay open. Prints the number of calls. */
#include "../programs/cases.h"
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

enum { RUNS = 12, MORE = 2 }; /* descriptors of connections that later rounds may need besides those of the first */

static const char *file;
static int target, delay, at, failed;
static pthread_t killer;
static bool has_killer;

/* Returns when the driver has ended: it answers nobody after that. */
static void *kill_driver(void *unused)
{
    FILE *stream = fopen(file, "r");
    struct timespec pause = {0, 1000L * delay};
    struct pollfd process = {.events = POLLIN};
    int pid = 0;
    (void)unused;
    if (!stream || fscanf(stream, "%d", &pid) != 1)
        printf("%s: holds no process id\n", file);
    if (stream)
        fclose(stream);
    process.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    TRUE_(process.fd >= 0);
    nanosleep(&pause, NULL);
    IS(syscall(SYS_pidfd_send_signal, process.fd, SIGKILL, NULL, 0), 0);
    poll(&process, 1, -1);
    close(process.fd);
    return NULL;
}

static void before_call(void)
{
    if (++at != target)
        return;
    if (delay) {
        IS(pthread_create(&killer, NULL, kill_driver, NULL), 0);
        has_killer = true;
    } else {
        kill_driver(NULL);
    }
}

/* Whether to make the next call. */
static bool goes_on(const char *call, int code, bool is_event)
{
    if (code && (!target || at < target))
        printf("call %d of a round without a kill: %s is %d\n", at, call, code);
    if (code && !failed && code != ANEURALNETWORKS_DEAD_OBJECT && !(is_event && code == F))
        printf("call %d, kill at %d after %d us: %s is %d, must be DEAD_OBJECT\n", at, target, delay, call, code);
    wrong += code && !target;
    failed |= code != 0;
    return !code;
}

#define GO(call) (before_call(), goes_on(#call, call, false))
#define GO_EVENT(call) (before_call(), goes_on(#call, call, true))

struct objects {
    Model *model;
    Compilation *compilation, *cached;
    Execution *execution, *other;
    Memory *memory, *of_device;
    ANeuralNetworksMemoryDesc *desc;
    Burst *burst;
    Event *event, *next;
};

static bool call_all(struct objects *o, const char *directory)
{
    static const uint8_t token[32];
    static const uint32_t inputs[] = {0, 1, 2}, outputs[] = {3};
    static struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    uint32_t dims[1];
    bool goes = GO(ANeuralNetworksModel_create(&o->model)) && GO(ANeuralNetworksModel_addOperand(o->model, &FLOAT2)) &&
                GO(ANeuralNetworksModel_addOperand(o->model, &FLOAT2)) &&
                GO(ANeuralNetworksModel_addOperand(o->model, &INT)) &&
                GO(ANeuralNetworksModel_addOperand(o->model, &FLOAT2)) &&
                GO(ANeuralNetworksModel_addOperation(o->model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs)) &&
                GO(ANeuralNetworksModel_identifyInputsAndOutputs(o->model, 3, inputs, 1, outputs)) &&
                GO(ANeuralNetworksModel_finish(o->model)) &&
                GO(ANeuralNetworksCompilation_create(o->model, &o->compilation)) &&
                GO(ANeuralNetworksCompilation_finish(o->compilation)) &&
                GO(ANeuralNetworksCompilation_create(o->model, &o->cached)) &&
                GO(ANeuralNetworksCompilation_setCaching(o->cached, directory, token)) &&
                GO(ANeuralNetworksCompilation_finish(o->cached)) &&
                GO(ANeuralNetworksExecution_create(o->compilation, &o->execution)) &&
                GO(ANeuralNetworksExecution_setReusable(o->execution, true));
    if (!goes)
        return false;
    o->memory = shared(8, NULL);
    give(o->execution, &sums);
    goes = GO(ANeuralNetworksMemoryDesc_create(&o->desc)) &&
           GO(ANeuralNetworksMemoryDesc_addOutputRole(o->desc, o->compilation, 0, 1)) &&
           GO(ANeuralNetworksMemoryDesc_finish(o->desc)) &&
           GO(ANeuralNetworksMemory_createFromDesc(o->desc, &o->of_device)) &&
           GO(ANeuralNetworksExecution_create(o->compilation, &o->other)) &&
           GO(ANeuralNetworksExecution_setInputFromMemory(o->other, 0, NULL, o->memory, 0, 8)) &&
           GO(ANeuralNetworksExecution_setInput(o->other, 1, NULL, sums.y, 8)) &&
           GO(ANeuralNetworksExecution_setInput(o->other, 2, NULL, &sums.activation, 4)) &&
           GO(ANeuralNetworksExecution_setOutputFromMemory(o->other, 0, NULL, o->of_device, 0, 0)) &&
           GO(ANeuralNetworksExecution_compute(o->other)) &&
           GO(ANeuralNetworksMemory_copy(o->of_device, o->memory)) &&
           GO(ANeuralNetworksBurst_create(o->compilation, &o->burst));
    for (int i = 0; goes && i < RUNS; i++) /* by messages at first, then through rings */
        goes = GO(ANeuralNetworksExecution_burstCompute(o->execution, o->burst)) && sums.z[1] == 6;
    goes = goes && GO(ANeuralNetworksExecution_startCompute(o->execution, &o->event)) &&
           GO_EVENT(ANeuralNetworksEvent_wait(o->event)) &&
           GO(ANeuralNetworksExecution_getOutputOperandDimensions(o->execution, 0, dims));
    const Event *before[] = {o->event};
    return goes &&
           GO(ANeuralNetworksExecution_startComputeWithDependencies(o->execution, before, 1, 0, &o->next)) &&
           GO_EVENT(ANeuralNetworksEvent_wait(o->next));
}

static void free_all(struct objects *o)
{
    ANeuralNetworksEvent_free(o->next);
    ANeuralNetworksEvent_free(o->event);
    ANeuralNetworksBurst_free(o->burst);
    ANeuralNetworksExecution_free(o->execution);
    ANeuralNetworksExecution_free(o->other);
    ANeuralNetworksMemory_free(o->of_device);
    ANeuralNetworksMemory_free(o->memory);
    ANeuralNetworksMemoryDesc_free(o->desc);
    ANeuralNetworksCompilation_free(o->cached);
    ANeuralNetworksCompilation_free(o->compilation);
    ANeuralNetworksModel_free(o->model);
}

static int entries(const char *directory, bool removes)
{
    DIR *folder = opendir(directory);
    struct dirent *entry;
    char path[600];
    int count = 0;
    while (folder && (entry = readdir(folder))) {
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        count += entry->d_name[0] != '.';
        if (removes && entry->d_name[0] != '.')
            unlink(path);
    }
    closedir(folder);
    return count;
}

static void run_round(int call, int microseconds)
{
    char directory[] = "/tmp/nnfast-kills-XXXXXX";
    struct objects objects = {0};
    TRUE_(mkdtemp(directory));
    target = call;
    delay = microseconds;
    at = failed = 0;
    bool succeeded = call_all(&objects, directory);
    if (has_killer)
        pthread_join(killer, NULL);
    has_killer = false;
    TRUE_(succeeded || failed);
    free_all(&objects);
    IS(entries(directory, true) % 2, 0); /* both files of the cache, or none */
    IS(rmdir(directory), 0);
}

int main(int argc, char **argv)
{
    file = argc > 1 ? argv[1] : "";
    run_round(0, 0);
    int calls = at, open_before = entries("/proc/self/fd", false);
    for (int i = 2; i < argc && !wrong; i++) {
        char *colon;
        int call = (int)strtol(argv[i], &colon, 10);
        run_round(call, *colon == ':' ? atoi(colon + 1) : 0);
        run_round(0, 0);
        TRUE_(entries("/proc/self/fd", false) <= open_before + MORE);
    }
    printf("%d\n", calls);
    return wrong ? 1 : 0;
}
