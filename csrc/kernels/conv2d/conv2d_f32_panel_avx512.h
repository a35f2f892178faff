/* Columns of one vector. Include, once for each width, after RUN, RUN_ROWS, V, MASK, WIDTH, DO(intrinsic) and
 * ADD_PRODUCT_OF. */

/* Columns from j on, no more than WIDTH, whose biases are at w in a panel `stride` wide. Each row has an address of its
 * own, which moves on. */
INLINE void RUN(const nnf_conv2d_f32_tile *t, const int rows, size_t j, const float *w, const size_t stride)
{
    /* With few rows one sum per output would wait for its own additions: split the depth over several. */
    const int chains = rows <= 3 ? 4 : 2;
    V sum[4][M];
NNF_UNROLL
    for (int i = 0; i < rows; i++) {
        sum[0][i] = DO(load_ps)(w);
NNF_UNROLL
        for (int c = 1; c < chains; c++)
            sum[c][i] = DO(setzero_ps)();
    }
    w += stride;
    for (size_t tap = 0; tap < t->taps; tap++) {
        const float *a[M];
        size_t k = 0;
NNF_UNROLL
        for (int i = 0; i < rows; i++)
            a[i] = t->a[tap * M + (size_t)i] + t->first;
        for (; k + STEPS <= t->depth; k += STEPS, w += STEPS * stride) {
NNF_UNROLL
            for (int s = 0; s < STEPS; s++) {
                const V low = DO(load_ps)(w + (size_t)s * stride);
NNF_UNROLL
                for (int i = 0; i < rows; i++)
                    ADD_PRODUCT_OF(&sum[s % chains][i], a[i] + s, low);
            }
NNF_UNROLL
            for (int i = 0; i < rows; i++) {
                a[i] += STEPS;
                __asm__("" : "+r"(a[i])); /* not a base to which a counter is added */
            }
        }
        for (; k < t->depth; k++, w += stride) {
            const V low = DO(load_ps)(w);
NNF_UNROLL
            for (int i = 0; i < rows; i++)
                ADD_PRODUCT_OF(&sum[0][i], a[i]++, low);
        }
    }
    const V lo = DO(set1_ps)(t->lo), hi = DO(set1_ps)(t->hi);
    const size_t left = t->columns - j < WIDTH ? t->columns - j : WIDTH, ldc = t->ldc;
    const MASK mask = (MASK)(0xFFFF >> (16 - left));
    const int full = left == WIDTH; /* most often, and a masked store takes longer */
    float *c = t->c + j;
NNF_UNROLL
    for (int i = 0; i < rows; i++, c += ldc) {
        V y = sum[0][i];
        if (chains == 2)
            y = DO(add_ps)(y, sum[1][i]);
        if (chains == 4)
            y = DO(add_ps)(DO(add_ps)(y, sum[1][i]), DO(add_ps)(sum[2][i], sum[3][i]));
        /* min/max return the second operand when either is NaN: the sum comes second, so that it stays one. */
        y = DO(min_ps)(hi, DO(max_ps)(lo, y));
        if (full)
            DO(storeu_ps)(c, y);
        else
            DO(mask_storeu_ps)(c, mask, y);
    }
}

INLINE void RUN_ROWS(const nnf_conv2d_f32_tile *t, size_t j, const float *w, const size_t stride)
{
    switch (t->rows) {
    case 1: RUN(t, 1, j, w, stride); break;
    case 2: RUN(t, 2, j, w, stride); break;
    case 3: RUN(t, 3, j, w, stride); break;
    case 4: RUN(t, 4, j, w, stride); break;
    case 5: RUN(t, 5, j, w, stride); break;
    case 6: RUN(t, 6, j, w, stride); break;
    case 7: RUN(t, 7, j, w, stride); break;
    case 8: RUN(t, 8, j, w, stride); break;
    case 9: RUN(t, 9, j, w, stride); break;
    case 10: RUN(t, 10, j, w, stride); break;
    case 11: RUN(t, 11, j, w, stride); break;
    default: RUN(t, 12, j, w, stride); break;
    }
}

#undef RUN
#undef RUN_ROWS
#undef V
#undef MASK
#undef WIDTH
#undef DO
#undef ADD_PRODUCT_OF
