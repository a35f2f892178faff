#include "check.h"
#include "checks.h"

#include <math.h>
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

/* Numbers of a type of `item` bytes: any bits; floats around the ends of integers, too, and what is no number. */
static void fill_numbers(nnf_check *c, void *x, size_t n, size_t item, int is_float, size_t form)
{
    static const float special[] = {0.0f,     -0.0f,    NAN,     INFINITY, -INFINITY,      0x1p31f, -0x1p31f, 0x1p63f,
                                    -0x1p63f, 0x1p8f,   255.5f,  -0.9f,    0x1.fffffep30f, 1e-45f,  -1.0f,
                                    127.5f,   128.0f,   -128.9f, -129.0f,  32767.5f,       32768.0f, -32768.9f,
                                    -32769.0f, -0x1.000002p31f};
    static const float most[] = {2, 300, 3e9f, 1e19f};
    nnf_check_fill_bytes(c, x, item * n);
    if (!is_float || form % 8 == 0)
        return;
    float *numbers = x;
    nnf_check_fill_f32(c, numbers, n, -most[form % 4], most[form % 4]);
    for (size_t i = 0; i < n; i++)
        if (form & 4 || nnf_check_below(c, 8) == 0)
            numbers[i] = special[nnf_check_below(c, sizeof special / sizeof *special)];
}

static void check_cast(nnf_check *c, const nnf_kernel *twin, const nnf_kernel *kernel, size_t item, int is_float)
{
    const nnf_cast_flat_fn slow = (nnf_cast_flat_fn)twin->fn, fast = (nnf_cast_flat_fn)kernel->fn;
    static const size_t made[] = {[NNF_TO_QU8] = 1, [NNF_TO_S8] = 1,  [NNF_TO_S16] = 2,
                                  [NNF_TO_S32] = 4, [NNF_TO_S64] = 8, [NNF_TO_F32] = 4,
                                  [NNF_TO_B8] = 1,  [NNF_CLAMP_QU8] = 1, [NNF_CLAMP_S32] = 4};
    static const char *const label[] = {"n=1024 to qu8", "n=1024 to s8", "n=1024 to s16",
                                        "n=1024 to s32", "n=1024 to s64", "n=1024 to f32",
                                        "n=1024 to b8",  "n=1024 clamp qu8", "n=1024 clamp s32"};
    for (int to = NNF_TO_QU8; to <= NNF_CLAMP_S32; to++) {
        for (size_t form = 0; form < 3 * 140; form++) {
            const size_t n = form / 3;
            uint8_t *x = nnf_check_alloc(c, item * n);
            uint8_t *expected = nnf_check_alloc(c, made[to] * n), *actual = nnf_check_alloc(c, made[to] * n);
            fill_numbers(c, x, n, item, is_float, form);
            slow(n, to, x, expected);
            fast(n, to, x, actual);
            nnf_check_bytes(c, expected, actual, made[to] * n);
            nnf_check_done(c, "to=%d n=%zu form=%zu", to, n, form);
        }
        const size_t n = 1024;
        void *x = nnf_check_alloc(c, item * n), *y = nnf_check_alloc(c, made[to] * n);
        nnf_check_fill_bytes(c, x, item * n);
        if (is_float)
            nnf_check_fill_f32(c, x, n, -300, 300);
        NNF_BENCH(c, label[to], n, fast(n, to, x, y));
        nnf_check_done(c, "bench");
    }
}

NNF_CHECK(cast_qu8_flat, check_cast(c, twin, kernel, 1, 0))
NNF_CHECK(cast_s8_flat, check_cast(c, twin, kernel, 1, 0))
NNF_CHECK(cast_s16_flat, check_cast(c, twin, kernel, 2, 0))
NNF_CHECK(cast_s32_flat, check_cast(c, twin, kernel, 4, 0))
NNF_CHECK(cast_s64_flat, check_cast(c, twin, kernel, 8, 0))
NNF_CHECK(cast_f32_flat, check_cast(c, twin, kernel, 4, 1))
