/* After fork() the child's copy of what is compiled is dead, a new compilation of its is not, and the parent goes on. */
#include "../programs/cases.h"
#include <sys/wait.h>

int main(int argc, char **argv)
{
    struct sums sums = {{1, 2}, {3, 4}, {0}, 0};
    Model *model = plain_add();
    Compilation *compilation = compiled(model);
    Execution *execution = new_execution(compilation);
    IS(ANeuralNetworksExecution_setReusable(execution, true), OK);
    give(execution, &sums);
    for (int i = argc > 1 ? atoi(argv[1]) : 1; i--;)
        IS(ANeuralNetworksExecution_compute(execution), OK);
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        IS(ANeuralNetworksExecution_compute(execution), ANEURALNETWORKS_DEAD_OBJECT);
        Compilation *own = compiled(model);
        Execution *one = new_execution(own);
        give(one, &sums);
        sums.z[0] = 0;
        IS(ANeuralNetworksExecution_compute(one), OK);
        TRUE_(sums.z[0] == 4);
        ANeuralNetworksExecution_free(one);
        ANeuralNetworksCompilation_free(own);
    } else {
        int status = 0;
        sums.z[0] = 0;
        IS(ANeuralNetworksExecution_compute(execution), OK);
        TRUE_(sums.z[0] == 4);
        waitpid(child, &status, 0);
        IS(status, 0);
        IS(ANeuralNetworksExecution_compute(execution), OK);
    }
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return wrong ? 1 : 0;
}
