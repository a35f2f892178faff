/* Packets of bursts under libFuzzer (clang -fsanitize=fuzzer): byte 0 says which parser, 24 bytes follow for each
 * element. A packet lies at the very end of its memory, and so does the table of places, so that the address sanitizer
 * sees a read or write beyond them. */
#include <stdlib.h>

#include "packet_returns.h"

enum { RESULT = 1, RIGHT_SIZE = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const uint8_t flags = data[0];
    size_t count = (size - 1) / 24;
    if (count > MOST)
        count = MOST;
    unsigned char *packet = malloc(count * 24 + !count);
    uint32_t *places = malloc((count + !count) * sizeof *places);
    memcpy(packet, data + 1, count * 24);
    if (flags & RESULT) {
        nnf_result result;
        if (count && flags & RIGHT_SIZE)
            ((nnf_result_datum *)packet)->as.packet.size = (uint32_t)count;
        if (nnf_result_parse(&result, (const nnf_result_datum *)packet, count, places) == NNF_PACKET_OK &&
            !result_returns(&result, count))
            abort();
    } else {
        nnf_request request;
        if (count && flags & RIGHT_SIZE)
            ((nnf_request_datum *)packet)->as.packet.size = (uint32_t)count;
        if (nnf_request_parse(&request, (const nnf_request_datum *)packet, count, places) == NNF_PACKET_OK &&
            !request_returns(&request, count))
            abort();
    }
    free(packet);
    free(places);
    return 0;
}
