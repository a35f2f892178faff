/* What 8-bit depthwise kernels of 64 lanes share: where codes lie, and from sums to codes. Include only from AVX-512
 * files. */
#ifndef NNF_DEPTHWISE_CONV2D_Q8_AVX512_H
#define NNF_DEPTHWISE_CONV2D_Q8_AVX512_H

#include "depthwise_conv2d.h"

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "nnf/requantize_avx512.h"
#include "nnf/unroll.h"

#define LANES 64

/* One block of output channels: 64 channels of a pixel, 32 of two pixels, 16 of four or 8 of eight. */
typedef struct block {
    const uint8_t *x;     /* first channel of the block, first pixel of the image */
    const int32_t *rows;  /* the packed block */
    __mmask64 channels;   /* those that exist */
    __m512i lo, hi, flip;
    const int32_t *round; /* the rows ROUND and ROUND_ODD; clipped: a copy with the 2^32 that sums of 0 or more add */
    _Alignas(64) int32_t copy[2 * LANES];
    bool is_signed;
    bool clipped;         /* no code below the zero point is left, so that negative sums need no care */
    uint8_t zero[LANES];  /* stands for positions outside of the image */
} block;

/* Address of a tap of the output in row y0 (of the window, in the image) and column `o`. */
INLINE const uint8_t *tap_at(const nnf_depthwise_q8 *p, const block *b, const nnf_depthwise_tap *tap, size_t y0,
                             size_t o)
{
    const size_t y = y0 + (size_t)tap->down, x = o * p->g.x.stride + (size_t)tap->across - p->g.x.head;
    if (y >= p->g.y.size || x >= p->g.x.size || o >= p->g.x.out)
        return b->zero;
    return b->x + (y * p->g.x.size + x) * p->g.channels;
}

/* Four parts of a vector. */
INLINE __m512i join(const __m128i quarter[4])
{
    const __m512i v = _mm512_inserti32x4(_mm512_castsi128_si512(quarter[0]), quarter[1], 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(v, quarter[2], 2), quarter[3], 3);
}

/* A block of codes: the channels of each pixel from its address on. */
INLINE __m512i pixels(const block *b, const int width, bool full, const uint8_t *const at[8])
{
    if (width == 64)
        return full ? _mm512_loadu_si512(at[0]) : _mm512_maskz_loadu_epi8(b->channels, at[0]);
    if (width == 32 && full)
        return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)at[0])),
                                  _mm256_loadu_si256((const __m256i *)at[1]), 1);
    if (width == 32) {
        const __mmask32 m = (__mmask32)b->channels;
        return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi8(m, at[0])),
                                  _mm256_maskz_loadu_epi8(m, at[1]), 1);
    }
    const __mmask16 m = (__mmask16)b->channels;
    __m128i quarter[4];
#pragma GCC unroll 4
    for (int s = 0; s < 4; s++) {
        if (width == 16)
            quarter[s] = full ? _mm_loadu_si128((const __m128i *)at[s]) : _mm_maskz_loadu_epi8(m, at[s]);
        else if (full)
            quarter[s] = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)at[2 * s]),
                                            _mm_loadl_epi64((const __m128i *)at[2 * s + 1]));
        else
            quarter[s] = _mm_unpacklo_epi64(_mm_maskz_loadu_epi8(m, at[2 * s]),
                                            _mm_maskz_loadu_epi8(m, at[2 * s + 1]));
    }
    return join(quarter);
}

/* The codes of one tap for the pixels of a block, which lie `apart` outputs from each other: `start` is the first tap of
 * column `o`, which is inside the image unless `border`. `flip` is a constant except at the border, where b->flip
 * decides. */
INLINE __m512i load(const nnf_depthwise_q8 *p, const block *b, const int width, bool full, bool border, bool flip,
                    const size_t apart, const nnf_depthwise_tap *tap, const uint8_t *start, size_t y0, size_t o)
{
    const size_t step = apart * p->g.x.stride * p->g.channels;
    const uint8_t *at[8];
#pragma GCC unroll 8
    for (int s = 0; s < LANES / width; s++)
        at[s] = border ? tap_at(p, b, tap, y0, o + (size_t)s * apart) : start + tap->offset + (size_t)s * step;
    const __m512i v = pixels(b, width, full, at);
    if (border)
        return _mm512_xor_si512(v, b->flip);
    return flip ? _mm512_xor_si512(v, _mm512_set1_epi8(-128)) : v;
}

/* Scale, zero point and shift of small sums, by the formula in depthwise_conv2d.h; neighbouring outputs share what is
 * loaded. Clipped: the formula of sums of 0 or more takes no negative sum above the zero point, where it is clamped. */
INLINE void scale_small(const block *b, const bool clipped, __m512i sum[][4], const int outputs, const int v)
{
    const int32_t *rows = b->rows + 16 * v;
    const __m512i twice = _mm512_load_si512(rows + NNF_DEPTHWISE_DOUBLE * LANES);
    const __m512i twice_odd = _mm512_load_si512(rows + NNF_DEPTHWISE_DOUBLE_ODD * LANES);
    const __m512i round = _mm512_load_si512(b->round + 16 * v);
    const __m512i round_odd = _mm512_load_si512(b->round + LANES + 16 * v);
    const __m512i right = _mm512_load_si512(rows + NNF_DEPTHWISE_RIGHT * LANES);
#pragma GCC unroll 4
    for (int i = 0; i < outputs; i++) {
        const __m512i x = sum[i][v];
        const __m512i even = _mm512_add_epi64(_mm512_mul_epu32(x, twice), round);
        const __m512i odd = _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(x, 32), twice_odd), round_odd);
        __m512i high = _mm512_mask_shuffle_epi32(odd, 0x5555, even, (_MM_PERM_ENUM)0xF5);
        if (!clipped)
            high = _mm512_add_epi32(high, _mm512_srli_epi32(x, 31));
        sum[i][v] = _mm512_srav_epi32(high, right);
    }
}

INLINE void scale_all(const block *b, __m512i sum[][4], const int outputs)
{
    const block *one = b, *other = b;
    __asm__("" : "+r"(one), "+r"(other)); /* else both scales' operands are loaded before the branch, and spilled */
    if (b->clipped) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            scale_small(one, true, sum, outputs, v);
    } else {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            scale_small(other, false, sum, outputs, v);
    }
}

/* Any sums and exponents. */
INLINE __m512i scale_any(__m512i x, const int32_t *rows, int32_t out_zero)
{
    x = nnf_mbqm_avx512(x, _mm512_load_si512(rows + NNF_DEPTHWISE_MULTIPLIER * LANES),
                        _mm512_load_si512(rows + NNF_DEPTHWISE_LEFT * LANES),
                        _mm512_load_si512(rows + NNF_DEPTHWISE_RIGHT * LANES));
    /* Far beyond any code, and safe to add to. */
    x = _mm512_max_epi32(_mm512_min_epi32(x, _mm512_set1_epi32(1000)), _mm512_set1_epi32(-1000));
    return _mm512_add_epi32(x, _mm512_set1_epi32(out_zero));
}

/* The sums of so many outputs to codes that are yet to be clamped. */
INLINE void scale_codes(const nnf_depthwise_q8 *p, const block *b, bool small, __m512i sum[][4], const int outputs)
{
    if (small)
        scale_all(b, sum, outputs);
#pragma GCC unroll 4
    for (int v = 0; v < 4 && !small; v++) {
#pragma GCC unroll 2
        for (int i = 0; i < outputs; i++)
            sum[i][v] = scale_any(sum[i][v], b->rows + 16 * v, p->out_zero);
    }
}

/* Codes of 64 scaled sums; saturation to 16 and 8 bits does not disturb a clamp that lies within 0..255. */
INLINE __m512i codes_of(const block *b, __m512i low, __m512i high)
{
    const __m512i code = _mm512_packus_epi16(low, high);
    return _mm512_xor_si512(_mm512_min_epu8(_mm512_max_epu8(code, b->lo), b->hi), b->flip);
}

INLINE __m512i codes(const block *b, const __m512i x[4])
{
    return codes_of(b, _mm512_packs_epi32(x[0], x[1]), _mm512_packs_epi32(x[2], x[3]));
}

/* Writes the pixels of a block that exist: columns o, o + apart, ... below `end`. */
INLINE void store(const block *b, const int width, bool full, __m512i code, uint8_t *y, size_t channels, size_t o,
                  size_t apart, size_t end)
{
    if (width == 64) {
        if (o >= end)
            return;
        if (full)
            _mm512_storeu_si512(y + o * channels, code);
        else
            _mm512_mask_storeu_epi8(y + o * channels, b->channels, code);
    } else if (width == 32 && full && o + apart < end) {
        _mm256_storeu_si256((__m256i *)(y + o * channels), _mm512_castsi512_si256(code));
        _mm256_storeu_si256((__m256i *)(y + (o + apart) * channels), _mm512_extracti64x4_epi64(code, 1));
    } else if (width == 32) {
        if (o < end)
            _mm256_mask_storeu_epi8(y + o * channels, (__mmask32)b->channels, _mm512_castsi512_si256(code));
        if (o + apart < end)
            _mm256_mask_storeu_epi8(y + (o + apart) * channels, (__mmask32)b->channels,
                                    _mm512_extracti64x4_epi64(code, 1));
    } else {
        const __mmask16 m = (__mmask16)b->channels;
        const __m128i quarter[4] = {_mm512_castsi512_si128(code), _mm512_extracti32x4_epi32(code, 1),
                                    _mm512_extracti32x4_epi32(code, 2), _mm512_extracti32x4_epi32(code, 3)};
#pragma GCC unroll 8
        for (int s = 0; s < LANES / width; s++) {
            const size_t at = o + (size_t)s * apart;
            const __m128i one = width == 16 ? quarter[s] : s % 2 ? _mm_srli_si128(quarter[s / 2], 8) : quarter[s / 2];
            if (at < end && width == 16 && full)
                _mm_storeu_si128((__m128i *)(y + at * channels), one);
            else if (at < end && full)
                _mm_storel_epi64((__m128i *)(y + at * channels), one);
            else if (at < end)
                _mm_mask_storeu_epi8(y + at * channels, m, one);
        }
    }
}

/* Whether the pixels of a block lie side by side in the image, and so do its outputs: then a row of either is a vector
 * of `width` channels, and what lies beside the image is masked. */
INLINE bool is_dense(const nnf_depthwise_q8 *p)
{
    return p->g.channels == NNF_DEPTHWISE_DENSE && p->g.x.stride == 1 && p->outputs == 1;
}

/* Bytes `from` up to `to` of a vector. */
INLINE __mmask64 bytes_between(size_t from, size_t to)
{
    return ~UINT64_C(0) >> (64 - to) & ~UINT64_C(0) << from;
}

/* The codes of one tap for neighbouring outputs from column o on, of a dense image. */
INLINE __m512i load_dense(const nnf_depthwise_q8 *p, const block *b, bool border, bool flip,
                          const nnf_depthwise_tap *tap, size_t y0, size_t o)
{
    const size_t pixel = NNF_DEPTHWISE_DENSE, each = LANES / pixel;
    const size_t y = y0 + (size_t)tap->down, x = o + (size_t)tap->across - p->g.x.head;
    const uint8_t *at = (const uint8_t *)((uintptr_t)b->x + (y * p->g.x.size + x) * pixel);
    if (!border) {
        const __m512i v = _mm512_loadu_si512(at);
        return flip ? _mm512_xor_si512(v, _mm512_set1_epi8(-128)) : v;
    }
    /* x may be a few columns before the image, as a number below 0 is. */
    const size_t before = x >= p->g.x.size ? -x : 0, until = p->g.x.size - x;
    const bool is_out = y >= p->g.y.size || (x >= p->g.x.size && before >= each);
    const __mmask64 there = is_out ? 0 : bytes_between(before * pixel, (until < each ? until : each) * pixel);
    return _mm512_xor_si512(_mm512_mask_loadu_epi8(_mm512_loadu_si512(b->zero), there, at), b->flip);
}

INLINE void store_dense(__m512i code, uint8_t *y, size_t o, size_t end)
{
    const size_t left = (end - o) * NNF_DEPTHWISE_DENSE;
    y += o * NNF_DEPTHWISE_DENSE;
    if (left < LANES)
        _mm512_mask_storeu_epi8(y, bytes_between(0, left), code);
    else
        _mm512_storeu_si512(y, code);
}

/* What all blocks share. */
INLINE block begin_block(const nnf_depthwise_q8 *p, const bool flip)
{
    block b = {.is_signed = flip, .clipped = p->lo >= p->out_zero,
               .lo = _mm512_set1_epi8((char)p->lo), .hi = _mm512_set1_epi8((char)p->hi),
               .flip = flip ? _mm512_set1_epi8(-128) : _mm512_setzero_si512()};
    memset(b.zero, p->in_zero ^ (flip ? 128 : 0), sizeof b.zero);
    return b;
}

/* Sets what hangs on the block: the one that begins with channel c. */
INLINE void enter(const nnf_depthwise_q8 *p, block *b, size_t c, const uint8_t *x)
{
    const size_t rest = p->g.channels - c;
    const __m512i more = _mm512_set1_epi64(INT64_C(1) << 32);
    b->x = x + c;
    b->rows = p->blocks + c * (NNF_DEPTHWISE_ROWS + p->groups * p->parts * p->outputs);
    b->channels = rest >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << rest) - 1;
    b->round = b->rows + NNF_DEPTHWISE_ROUND * LANES;
    if (b->clipped) {
        for (int i = 0; i < 2 * LANES; i += 16)
            _mm512_store_si512(b->copy + i, _mm512_add_epi64(_mm512_load_si512(b->round + i), more));
        b->round = b->copy;
    }
}

#endif
