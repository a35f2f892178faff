#include "activation.h"

#include <stdbool.h>

#include "nnf/simd/f64_avx2.h"
#include "nnf/simd/u8_avx2.h"

#define KERNEL(op) op##__avx2_8
#define KERNEL_BYTES(op) op##__avx2_32

#include "activation/activation_lookup_simd.h"
#include "activation/activation_simd.h"

/* Of words, before they are shifted. */
INLINE B line_sums(const bool is_bent, const nnf_line *line, B word)
{
    B sum = u16_all(line->offset);
    if (is_bent) {
        sum = u16_add(sum, u16_mul_high(u16_min(word, u16_all(line->limit[0])), u16_all(line->slope[0])));
        return u16_add(sum, u16_mul_high(u16_max(word, u16_all(line->limit[1])), u16_all(line->slope[1])));
    }
    return u16_add(sum, u16_mul_high(word, u16_all(line->slope[0])));
}

INLINE B line_codes(const bool is_bent, const nnf_line *line, B x)
{
    const B code = u8_min(u8_max(u8_xor(x, u8_all(line->flip)), u8_all(line->least)), u8_all(line->most));
    const B part = u8_all(line->part);
    const B low = s16_lower(line_sums(is_bent, line, u8_pairs_low(part, code)), line->shift);
    const B high = s16_lower(line_sums(is_bent, line, u8_pairs_high(part, code)), line->shift);
    return u8_add(u8_of_s16(low, high), u8_all(line->base));
}

INLINE void line_flat(const bool is_bent, size_t n, const uint8_t *x, uint8_t *y, const nnf_line *line)
{
    const nnf_line own = *line; /* which no store of codes can change */
    size_t i = 0;
    for (; i + BYTES <= n; i += BYTES)
        u8_store_whole(y + i, line_codes(is_bent, &own, u8_load_whole(x + i)));
    if (i < n)
        u8_store(y + i, n - i, line_codes(is_bent, &own, u8_load(n - i, x + i)));
}

/* Only at this level: higher ones have permutations that find bytes of a table in as little time. */
void nnf_line_qu8_flat__avx2_32(size_t n, const uint8_t *x, uint8_t *y, const nnf_line *line)
{
    if (line->is_bent)
        line_flat(true, n, x, y, line);
    else
        line_flat(false, n, x, y, line);
}
