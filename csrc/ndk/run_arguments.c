/* Arguments of a run: where they lie, and how they get there and back. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "run.h"

struct ndk_argument *ndk_run_argument(const struct ndk_run *run, uint32_t place)
{
    return place < run->input_count ? &run->execution->inputs[place]
                                    : &run->execution->outputs[place - run->input_count];
}

size_t ndk_run_length(const struct ndk_run *run, uint32_t place)
{
    const struct ndk_argument *argument = ndk_run_argument(run, place);
    if (argument->size)
        return argument->size;
    return argument->place == NDK_NOTHING ? run->unwanted[place - run->input_count] : argument->length;
}

bool ndk_run_omits(const struct ndk_run *run, uint32_t place)
{
    return ndk_run_argument(run, place)->place == NDK_NOTHING && place < run->input_count;
}

uint32_t ndk_run_rank(const struct ndk_run *run, uint32_t place)
{
    const struct ndk_argument *argument = ndk_run_argument(run, place);
    return argument->has_dims && !ndk_run_omits(run, place) ? argument->rank : 0;
}

/* Whether an argument travels through the arena: what is the caller's own, and outputs that nobody wants. */
static bool is_in_arena(const struct ndk_run *run, uint32_t place)
{
    enum ndk_place kind = ndk_run_argument(run, place)->place;
    return kind == NDK_POINTER || (kind == NDK_NOTHING && place >= run->input_count);
}

void ndk_run_copy_in(const struct ndk_run *run, uint8_t *arena)
{
    for (uint32_t i = 0; i < run->input_count; i++)
        if (is_in_arena(run, i))
            memcpy(arena + run->starts[i], ndk_run_argument(run, i)->pointer, ndk_run_length(run, i));
}

void ndk_run_copy_out(const struct ndk_run *run, const uint8_t *arena, uint32_t output, uint64_t size)
{
    const struct ndk_argument *argument = &run->execution->outputs[output];
    if (argument->place == NDK_POINTER)
        memcpy(argument->pointer, arena + run->starts[run->input_count + output],
               size < argument->length ? (size_t)size : argument->length);
}

struct ndk_result *ndk_run_result(const struct ndk_run *run, uint32_t output, size_t rank)
{
    struct ndk_result *result = &run->execution->results[output];
    uint32_t *dims = rank < UINT32_MAX ? realloc(result->dims, (rank + 1) * sizeof *dims) : NULL;
    if (!dims)
        return NULL;
    result->dims = dims;
    result->rank = (uint32_t)rank;
    return result;
}

void ndk_run_lay_out(struct ndk_run *run)
{
    size_t at = 0;
    run->memory_count = 0;
    for (uint32_t i = 0; i < run->input_count + run->output_count; i++) {
        const struct ndk_argument *argument = ndk_run_argument(run, i);
        if (is_in_arena(run, i)) {
            run->starts[i] = at;
            at += (ndk_run_length(run, i) + NDK_LINE - 1) / NDK_LINE * NDK_LINE;
        } else if (argument->place == NDK_IN_MEMORY) {
            size_t k = 0;
            while (k < run->memory_count && run->memories[k] != argument->memory)
                k++;
            run->memories[k] = argument->memory;
            run->memory_count += k == run->memory_count;
            run->starts[i] = k;
        }
    }
    run->arena_size = at;
}
