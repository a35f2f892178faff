#include "resize.h"

/* The four neighbours in the order of the reference. */
static inline float blend(float top_left, float bottom_left, float top_right, float bottom_right, float down,
                          float across)
{
    float value = top_left * (1 - down) * (1 - across);
    value += bottom_left * down * (1 - across);
    value += top_right * (1 - down) * across;
    return value + bottom_right * down * across;
}

void nnf_resize_bilinear_f32_nhwc__scalar(const nnf_resize *p, const float *top, const float *bottom, float down,
                                          void *work, float *y)
{
    (void)work;
    for (size_t i = 0; i < p->width; i++) {
        const size_t left = p->left[i] * p->channels, right = p->right[i] * p->channels;
        for (size_t c = 0; c < p->channels; c++)
            *y++ = blend(top[left + c], bottom[left + c], top[right + c], bottom[right + c], down, p->across[i]);
    }
}

static inline float real(int is_signed, uint8_t raw)
{
    return is_signed ? (float)(int8_t)raw : (float)raw;
}

static inline void resize_q8(int is_signed, const nnf_resize *p, const uint8_t *top, const uint8_t *bottom, float down,
                             uint8_t *y)
{
    for (size_t i = 0; i < p->width; i++) {
        const size_t left = p->left[i] * p->channels, right = p->right[i] * p->channels;
        for (size_t c = 0; c < p->channels; c++) {
            const float value = blend(real(is_signed, top[left + c]), real(is_signed, bottom[left + c]),
                                      real(is_signed, top[right + c]), real(is_signed, bottom[right + c]), down,
                                      p->across[i]);
            *y++ = (uint8_t)(int32_t)(value + 0.5f);
        }
    }
}

void nnf_resize_bilinear_qu8_nhwc__scalar(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                          float down, void *work, uint8_t *y)
{
    (void)work;
    resize_q8(0, p, top, bottom, down, y);
}

static inline int64_t fixed(float weight)
{
    return (int64_t)(weight * NNF_RESIZE_ONE);
}

static inline void resize_fixed(const nnf_resize *p, const int8_t *top, const int8_t *bottom, float down, int8_t *y)
{
    const int64_t low = fixed(down), up = NNF_RESIZE_ONE - low, half = 1 << (2 * NNF_RESIZE_BITS - 1);
    for (size_t i = 0; i < p->width; i++) {
        const size_t left = p->left[i] * p->channels, right = p->right[i] * p->channels;
        const int64_t across = fixed(p->across[i]), back = NNF_RESIZE_ONE - across;
        for (size_t c = 0; c < p->channels; c++) {
            const int64_t value = (top[left + c] * up + bottom[left + c] * low) * back +
                                  (top[right + c] * up + bottom[right + c] * low) * across;
            *y++ = (int8_t)((value + (value < 0 ? -half : half)) / (2 * half));
        }
    }
}

void nnf_resize_bilinear_qs8_nhwc__scalar(const nnf_resize *p, const uint8_t *top, const uint8_t *bottom,
                                          float down, void *work, uint8_t *y)
{
    (void)work;
    if (p->is_fixed)
        resize_fixed(p, (const int8_t *)top, (const int8_t *)bottom, down, (int8_t *)y);
    else
        resize_q8(1, p, top, bottom, down, y);
}
