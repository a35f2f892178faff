/* From products of Winograd patches to sums, in vectors of int32, which wrap. Include only behind
 *
 *   S                                        a vector
 *   s32_all(x)                               x in all lanes
 *   s32_add(a, b)  s32_sub(a, b)  s32_mul(a, b)
 *   s32_left(a, bits)  s32_right(a, bits)    shifts, the latter arithmetic */
enum { IN = NNF_WINOGRAD_Q8_IN, OUT = NNF_WINOGRAD_Q8_OUT }; /* at most */

/* The products of a patch on a side to outputs, `step` vectors apart. */
INLINE void output_line(const size_t out, const S *m, const size_t step, S y[OUT])
{
    const S m1 = m[step], m2 = m[2 * step], m3 = m[3 * step];
    if (out == NNF_WINOGRAD_Q8_2) {
        y[0] = s32_add(s32_add(m[0], m1), m2);
        y[1] = s32_sub(s32_sub(m1, m2), m3);
    } else {
        const S m4 = m[4 * step], m5 = m[5 * step];
        const S sum = s32_left(s32_add(m1, m2), 2);
        const S difference = s32_left(s32_sub(m1, m2), 2);
        const S sums = s32_add(m3, m4), differences = s32_sub(m3, m4);
        y[0] = s32_add(s32_add(s32_left(m[0], 1), sum), sums);
        y[1] = s32_add(difference, s32_left(differences, 1));
        y[2] = s32_add(sum, s32_left(sums, 2));
        if (out == NNF_WINOGRAD_Q8_3)
            y[2] = s32_add(y[2], s32_left(m5, 3));
        else
            y[3] = s32_add(difference, s32_left(s32_add(differences, m5), 3));
    }
}

/* An output without the scale that it got on the way: 4, or 9 * 64. */
INLINE S unscaled(const size_t out, S y)
{
    const S ninth = s32_all(0x38E38E39); /* modulo 2^32 */
    return out == NNF_WINOGRAD_Q8_2 ? s32_right(y, 2) : s32_right(s32_mul(y, ninth), 6);
}
