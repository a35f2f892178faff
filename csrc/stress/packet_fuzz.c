/* Mutated packets for the sanitizers: packet_fuzz [PACKETS [SEED...]], so many of each seed.
 *
 * Valid packets, of which up to three elements are then removed, doubled, exchanged, retagged or filled with noise, or
 * whose counts are changed. Each lies at the very end of its memory, and so does the table of places, so that a read or
 * write beyond them is seen. What parses must come out again, element by element, when it is built from what was
 * parsed; what was left alone must parse. In the end every fault must have been met. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nnf/packet.h"
#include "packet_returns.h"

static uint64_t state;

static uint32_t next(void)
{
    state += 0x9E3779B97F4A7C15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ (z >> 31)) >> 16);
}

static uint32_t below(uint32_t limit)
{
    return (uint32_t)(((uint64_t)next() * limit) >> 32);
}

static uint32_t odd_number(void)
{
    static const uint32_t some[] = {0, 1, 2, 3, 10, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFE, 0xFFFFFFFF};
    return below(2) ? some[below(sizeof some / sizeof *some)] : next();
}

static void fail(const char *what, uint64_t seed, uint64_t number)
{
    fprintf(stderr, "seed %llu, packet %llu: %s\n", (unsigned long long)seed, (unsigned long long)number, what);
    exit(1);
}

/* Changes one place of a packet of `count` elements of 24 bytes; returns its new length. */
static size_t mutate(unsigned char *packet, size_t count)
{
    unsigned char element[24];
    const size_t at = count ? below((uint32_t)count) : 0, other = count ? below((uint32_t)count) : 0;
    switch (below(9)) {
    case 0: /* removed */
        if (count == 0)
            return count;
        memmove(packet + at * 24, packet + (at + 1) * 24, (count - at - 1) * 24);
        return count - 1;
    case 1: /* doubled, elsewhere */
        if (count == 0 || count == MOST)
            return count;
        memcpy(element, packet + at * 24, 24);
        memmove(packet + (other + 1) * 24, packet + other * 24, (count - other) * 24);
        memcpy(packet + other * 24, element, 24);
        return count + 1;
    case 2: /* cut short */
        return at;
    case 3: /* replaced by another */
        if (count)
            memmove(packet + at * 24, packet + other * 24, 24);
        return count;
    case 4: /* of another kind, or of none */
        if (count)
            packet[at * 24] = (unsigned char)(below(4) ? below(8) : next());
        return count;
    case 5: /* a number in it is changed */
    case 6:
        if (count) {
            const uint32_t number = odd_number();
            memcpy(packet + at * 24 + 4 * (1 + below(5)), &number, 4);
        }
        return count;
    case 7: /* a count of the first element, by a little */
        if (count) {
            uint32_t number;
            unsigned char *place = packet + 4 * (1 + below(5));
            memcpy(&number, place, 4);
            number += below(5) - 2;
            memcpy(place, &number, 4);
        }
        return count;
    default: /* noise */
        if (count)
            packet[at * 24 + below(24)] = (unsigned char)next();
        return count;
    }
}

/* A valid request; its number of elements. */
static size_t make_request(nnf_request_datum *packet)
{
    nnf_argument arguments[16];
    uint32_t dims[64], used = 0;
    int32_t slots[8];
    const uint32_t inputs = below(6), outputs = below(6), pools = below(5);
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        const uint32_t rank = below(3) ? 0 : below(6);
        arguments[i] = (nnf_argument){below(8) == 0, below(3), below(1000), below(1000), rank};
        for (uint32_t axis = 0; axis < rank; axis++)
            dims[used++] = below(9);
    }
    for (uint32_t i = 0; i < pools; i++)
        slots[i] = (int32_t)odd_number();
    return nnf_request_build(packet, MOST, arguments, inputs, outputs, dims, slots, pools, (int)below(2));
}

static size_t make_result(nnf_result_datum *packet)
{
    nnf_output outputs[8];
    uint32_t dims[64], used = 0;
    const uint32_t count = below(8);
    for (uint32_t i = 0; i < count; i++) {
        outputs[i] = (nnf_output){below(2), below(6)};
        for (uint32_t axis = 0; axis < outputs[i].rank; axis++)
            dims[used++] = below(9);
    }
    return nnf_result_build(packet, MOST, (int32_t)below(5), outputs, count, dims, next(), NNF_NO_TIME);
}

static uint64_t met[2][NNF_PACKET_FAULTS];

static void run(uint64_t seed, uint64_t packets)
{
    unsigned char *built = malloc((MOST + 1) * 24), *heap = malloc(MOST * 24);
    uint32_t *table = malloc(MOST * sizeof *table);
    state = seed;
    for (uint64_t i = 0; i < packets; i++) {
        const int is_request = next() & 1;
        size_t count = is_request ? make_request((nnf_request_datum *)built) : make_result((nnf_result_datum *)built);
        const uint32_t mutations = below(4);
        for (uint32_t m = 0; m < mutations; m++)
            count = mutate(built, count);
        unsigned char *packet = heap + (MOST - count) * 24;
        uint32_t *places = table + (MOST - count);
        memcpy(packet, built, count * 24);
        enum nnf_packet_fault fault;
        if (is_request) {
            nnf_request request;
            fault = nnf_request_parse(&request, (const nnf_request_datum *)packet, count, places);
            if (fault == NNF_PACKET_OK && !request_returns(&request, count))
                fail("a request that parses does not come out again", seed, i);
        } else {
            nnf_result result;
            fault = nnf_result_parse(&result, (const nnf_result_datum *)packet, count, places);
            if (fault == NNF_PACKET_OK && !result_returns(&result, count))
                fail("a result that parses does not come out again", seed, i);
        }
        if (mutations == 0 && fault != NNF_PACKET_OK)
            fail("a valid packet is refused", seed, i);
        met[is_request][fault]++;
    }
    free(built);
    free(heap);
    free(table);
}

int main(int count_of_words, char **words)
{
    const uint64_t packets = count_of_words > 1 ? strtoull(words[1], NULL, 10) : 1000000;
    for (int word = 2; word < count_of_words; word++)
        run(strtoull(words[word], NULL, 10), packets);
    if (count_of_words <= 2)
        run(1, packets);
    for (int kind = 0; kind < 2; kind++)
        for (int fault = 0; fault < NNF_PACKET_FAULTS; fault++)
            if (met[kind][fault] == 0 && packets >= 1000000) {
                fprintf(stderr, "%s: fault %d was never met\n", kind ? "requests" : "results", fault);
                return 1;
            }
    printf("%llu packets a seed, %llu well-formed\n", (unsigned long long)packets,
           (unsigned long long)(met[0][NNF_PACKET_OK] + met[1][NNF_PACKET_OK]));
    return 0;
}
