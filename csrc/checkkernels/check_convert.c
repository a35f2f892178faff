#include "check.h"
#include "checks.h"

#include <string.h>

#include "convert/convert.h"

void nnf_check_convert_f16_f32_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_convert_f16_f32_flat_fn slow = (nnf_convert_f16_f32_flat_fn)twin->fn;
    const nnf_convert_f16_f32_flat_fn fast = (nnf_convert_f16_f32_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        const size_t n = sizes[s];
        uint16_t *x = nnf_check_alloc(c, 2 * n);
        float *expected = nnf_check_alloc(c, 4 * n), *actual = nnf_check_alloc(c, 4 * n);
        for (size_t i = 0; i < n; i++)
            x[i] = (uint16_t)nnf_check_u32(c);
        slow(n, x, expected);
        fast(n, x, actual);
        nnf_check_bytes(c, expected, actual, 4 * n);
        nnf_check_done(c, "n=%zu", n);
    }
    const size_t n = 65536;
    uint16_t *x = nnf_check_alloc(c, 2 * n);
    float *expected = nnf_check_alloc(c, 4 * n), *actual = nnf_check_alloc(c, 4 * n);
    for (size_t i = 0; i < n; i++)
        x[i] = (uint16_t)i;
    slow(n, x, expected);
    fast(n, x, actual);
    nnf_check_bytes(c, expected, actual, 4 * n);
    NNF_BENCH(c, "n=65536", n, fast(n, x, actual));
    nnf_check_done(c, "all halves");
}

/* Every half, the ties on both sides of it, and the floats next to those. */
static void check_neighbours(nnf_check *c, nnf_convert_f32_f16_flat_fn slow, nnf_convert_f32_f16_flat_fn fast)
{
    static const uint32_t around[] = {0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF};
    const size_t count = sizeof around / sizeof *around, n = count * 65536;
    float *x = nnf_check_alloc(c, 4 * n);
    uint16_t *expected = nnf_check_alloc(c, 2 * n), *actual = nnf_check_alloc(c, 2 * n);
    for (size_t i = 0; i < 65536; i++) {
        for (size_t j = 0; j < count; j++) {
            /* Exponents 2^-31..2^32 of both signs: denormal halves begin at 2^-24, infinity at 2^16. */
            const uint32_t high = (uint32_t)i << 16 | (uint32_t)(i & 7) << 13;
            const uint32_t bits = (high & 0x9FFFE000) + 0x30000000 + around[j];
            memcpy(x + i * count + j, &bits, 4);
        }
    }
    slow(n, x, expected);
    fast(n, x, actual);
    nnf_check_bytes(c, expected, actual, 2 * n);
    nnf_check_done(c, "halves and their neighbours");
}

void nnf_check_convert_f32_f16_flat(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel)
{
    const nnf_convert_f32_f16_flat_fn slow = (nnf_convert_f32_f16_flat_fn)twin->fn;
    const nnf_convert_f32_f16_flat_fn fast = (nnf_convert_f32_f16_flat_fn)kernel->fn;
    size_t sizes[9];
    nnf_check_sizes(16, sizes);
    for (size_t s = 0; sizes[s]; s++) {
        for (int form = 0; form < 8; form++) {
            const size_t n = sizes[s];
            float *x = nnf_check_alloc(c, 4 * n);
            uint16_t *expected = nnf_check_alloc(c, 2 * n), *actual = nnf_check_alloc(c, 2 * n);
            for (size_t i = 0; i < n; i++) {
                const uint32_t bits = nnf_check_u32(c);
                memcpy(x + i, &bits, 4);
            }
            if (form & 1)
                nnf_check_fill_f32(c, x, n, -1e-5f, 1e-5f);
            slow(n, x, expected);
            fast(n, x, actual);
            nnf_check_bytes(c, expected, actual, 2 * n);
            nnf_check_done(c, "n=%zu form=%d", n, form);
        }
    }
    check_neighbours(c, slow, fast);
    const size_t n = 65536;
    float *x = nnf_check_alloc(c, 4 * n);
    uint16_t *y = nnf_check_alloc(c, 2 * n);
    nnf_check_fill_f32(c, x, n, -8, 8);
    NNF_BENCH(c, "n=65536", n, fast(n, x, y));
    nnf_check_done(c, "bench");
}
