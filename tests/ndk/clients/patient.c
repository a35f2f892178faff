/* A client that says how far it is, and goes on when it is told: for tests that stop its driver meanwhile. */
#include "../programs/cases.h"

static void told(const char *what)
{
    char line[16];
    printf("%s\n", what);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        exit(3);
}

/* Runs as often as it is told before. */
int main(int argc, char **argv)
{
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    Model *model = plain_add();
    Compilation *compilation = compiled(model), *late;
    Execution *execution = new_execution(compilation), *other = new_execution(compilation), *again;
    Memory *memory = shared(8, NULL);
    Event *event = NULL;
    IS(ANeuralNetworksExecution_setReusable(execution, true), OK);
    give(execution, &sums);
    IS(ANeuralNetworksExecution_setInputFromMemory(other, 0, NULL, memory, 0, 8), OK);
    IS(ANeuralNetworksExecution_setInput(other, 1, NULL, sums.y, 8), OK);
    IS(ANeuralNetworksExecution_setInput(other, 2, NULL, &sums.activation, 4), OK);
    IS(ANeuralNetworksExecution_setOutput(other, 0, NULL, sums.z, 8), OK);
    IS(ANeuralNetworksExecution_setReusable(other, true), OK);
    for (int i = argc > 1 ? atoi(argv[1]) : 1; i--;) {
        IS(ANeuralNetworksExecution_compute(execution), OK);
        IS(ANeuralNetworksExecution_compute(other), OK);
    }
    told("ready");
    /* The driver has gone. */
    IS(ANeuralNetworksExecution_compute(execution), ANEURALNETWORKS_DEAD_OBJECT);
    IS(ANeuralNetworksExecution_compute(other), ANEURALNETWORKS_DEAD_OBJECT);
    IS(ANeuralNetworksExecution_startCompute(execution, &event), OK);
    IS(ANeuralNetworksEvent_wait(event), F);
    ANeuralNetworksEvent_free(event);
    told("gone");
    /* There is another: what was compiled is still dead, and what is compiled now is not. */
    IS(ANeuralNetworksExecution_compute(execution), ANEURALNETWORKS_DEAD_OBJECT);
    late = compiled(model);
    again = new_execution(late);
    IS(ANeuralNetworksExecution_setInputFromMemory(again, 0, NULL, memory, 0, 8), OK);
    IS(ANeuralNetworksExecution_setInput(again, 1, NULL, sums.y, 8), OK);
    IS(ANeuralNetworksExecution_setInput(again, 2, NULL, &sums.activation, 4), OK);
    IS(ANeuralNetworksExecution_setOutput(again, 0, NULL, sums.z, 8), OK);
    sums.z[0] = 0;
    IS(ANeuralNetworksExecution_compute(again), OK);
    TRUE_(sums.z[0] == 3);
    ANeuralNetworksExecution_free(again);
    ANeuralNetworksCompilation_free(late);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksExecution_free(other);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksMemory_free(memory);
    ANeuralNetworksModel_free(model);
    return wrong ? 1 : 0;
}
