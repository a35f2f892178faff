/* In what order the operations of a model run. */
#include <stdlib.h>

#include "model.h"

int ndk_order(ANeuralNetworksModel *model)
{
    uint32_t operands = model->operand_count, operations = model->operation_count, ready = 0;
    bool in_order = true;
    size_t reads = 0;
    for (uint32_t i = 0; i < operations; i++)
        reads += model->operations[i].input_count;
    uint32_t *order = malloc(operations * sizeof *order), *missing = calloc(operations, sizeof *missing);
    uint32_t *writer = malloc(operands * sizeof *writer);
    /* readers[first[i]] to readers[first[i + 1]]: who reads operand i */
    size_t *first = calloc(operands + (size_t)2, sizeof *first);
    uint32_t *readers = malloc((reads + 1) * sizeof *readers);
    int code = order && missing && writer && first && readers ? ANEURALNETWORKS_NO_ERROR
                                                              : ANEURALNETWORKS_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < operands && !code; i++)
        writer[i] = UINT32_MAX;
    for (uint32_t i = 0; i < operations && !code; i++)
        for (uint32_t k = 0; k < model->operations[i].output_count && !code; k++) {
            uint32_t operand = model->operations[i].outputs[k];
            enum ndk_lifetime lifetime = model->operands[operand].lifetime;
            if ((lifetime != NDK_TEMPORARY && lifetime != NDK_OUTPUT) || writer[operand] != UINT32_MAX)
                code = ANEURALNETWORKS_BAD_DATA;
            writer[operand] = i;
        }
    for (uint32_t i = 0; i < operands && !code; i++)
        if ((model->operands[i].lifetime == NDK_TEMPORARY || model->operands[i].lifetime == NDK_OUTPUT) &&
            writer[i] == UINT32_MAX)
            code = ANEURALNETWORKS_BAD_DATA;
    if (!code) {
        for (uint32_t i = 0; i < operations; i++)
            for (uint32_t k = 0; k < model->operations[i].input_count; k++)
                first[model->operations[i].inputs[k] + 2]++;
        for (uint32_t i = 2; i < operands + 2; i++)
            first[i] += first[i - 1];
        for (uint32_t i = 0; i < operations; i++)
            for (uint32_t k = 0; k < model->operations[i].input_count; k++) {
                uint32_t operand = model->operations[i].inputs[k];
                readers[first[operand + 1]++] = i;
                missing[i] += writer[operand] != UINT32_MAX;
                in_order &= writer[operand] == UINT32_MAX || writer[operand] < i;
            }
        for (uint32_t i = 0; i < operations; i++)
            if (!missing[i])
                order[ready++] = i;
        for (uint32_t done = 0; done < ready; done++) {
            const struct ndk_operation *operation = &model->operations[order[done]];
            for (uint32_t k = 0; k < operation->output_count; k++)
                for (size_t r = first[operation->outputs[k]]; r < first[operation->outputs[k] + 1]; r++)
                    if (!--missing[readers[r]])
                        order[ready++] = readers[r];
        }
        if (ready < operations)
            code = ANEURALNETWORKS_BAD_DATA;
        for (uint32_t i = 0; i < operations && in_order; i++)
            order[i] = i;
    }
    free(missing);
    free(writer);
    free(first);
    free(readers);
    if (code)
        free(order);
    else
        model->order = order;
    return code;
}
