/* Bursts: runs of one compilation, one at a time. They take the same way as others, which is that through rings for
 * whoever runs often (lane.h). */
#define _GNU_SOURCE
#include <stdlib.h>

#include "execution.h"

struct ANeuralNetworksBurst {
    const ANeuralNetworksCompilation *compilation;
    pthread_mutex_t busy;
};

int ANeuralNetworksBurst_create(ANeuralNetworksCompilation *compilation, ANeuralNetworksBurst **burst)
{
    if (!burst)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    *burst = NULL;
    if (!compilation)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (compilation->state != NDK_READY)
        return ANEURALNETWORKS_BAD_STATE;
    ANeuralNetworksBurst *made = calloc(1, sizeof *made);
    if (!made)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    made->compilation = compilation;
    pthread_mutex_init(&made->busy, NULL);
    *burst = made;
    return ANEURALNETWORKS_NO_ERROR;
}

void ANeuralNetworksBurst_free(ANeuralNetworksBurst *burst)
{
    if (!burst)
        return;
    pthread_mutex_destroy(&burst->busy);
    free(burst);
}

int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst)
{
    if (!execution || !burst)
        return ANEURALNETWORKS_UNEXPECTED_NULL;
    if (execution->compilation != burst->compilation)
        return ANEURALNETWORKS_BAD_DATA;
    if (pthread_mutex_trylock(&burst->busy))
        return ANEURALNETWORKS_BAD_STATE;
    int code = ANeuralNetworksExecution_compute(execution);
    pthread_mutex_unlock(&burst->busy);
    return code;
}
