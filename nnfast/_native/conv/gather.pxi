"""Rows of the implicit product of a convolution: what lies under the window of each output pixel.

gather() walks the windows of neighbouring output pixels, one filter row at a time, in stretches of `across` filter
columns that lie side by side in the image. What it does with a stretch follows from the type of the destination, at
compile time: float32 kernels and those for few output channels take addresses, the others copies that are rounded to
bfloat16 or made unsigned.
"""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

cdef extern from "conv2d/conv2d.h":
    ctypedef void (*nnf_conv2d_gather_qu8_nhwc_fn)(size_t rows, size_t n, const uint8_t *x, size_t ldx, uint8_t flip,
                                                   uint8_t *to, size_t ldt, uint32_t *sums) noexcept nogil

cdef extern from "conv2d/conv2d_bf16.h":
    ctypedef void (*nnf_conv2d_gather_bf16_nhwc_fn)(size_t rows, size_t n, const float *x, size_t ldx, uint16_t *to,
                                                    size_t ldt) noexcept nogil


ctypedef struct gathered_f32:
    const float **to            # addresses [taps][m]
    size_t m
    const float *zeros          # a stretch outside the image
    float *copies               # where the next stretch goes that crosses the border


ctypedef struct gathered_bf16:
    uint16_t *to                # [rows][lda]
    size_t lda
    nnf_conv2d_gather_bf16_nhwc_fn copy


ctypedef struct gathered_q8:
    uint8_t *to                 # [rows][lda]
    size_t lda
    nnf_conv2d_gather_qu8_nhwc_fn copy
    uint8_t flip
    int32_t pad                 # code beside the image
    const nnf_row_codes *images     # how each image was quantized; NULL: all have `pad`
    uint32_t *sums              # of the codes of each row; NULL: none


ctypedef struct gathered_codes:
    const uint8_t **to          # addresses [taps][m]
    size_t m
    const uint8_t *pads         # a stretch outside the image
    uint8_t *copies             # where the next stretch goes that crosses the border
    int32_t pad                 # code beside the image


ctypedef fused gathered:
    gathered_f32
    gathered_codes
    gathered_bf16
    gathered_q8


cdef inline size_t bytes_of_input(const gathered *to) noexcept nogil:
    """Of one element of the image."""
    return 1 if gathered is gathered_q8 or gathered is gathered_codes else sizeof(float)


cdef inline void take(const geometry *g, gathered *to, size_t step, size_t tap, size_t row, size_t count,
                      const void *x) noexcept nogil:
    """Stretches from x on, `step` elements apart, under tap `tap` of rows row..row+count-1; all inside the image."""
    cdef size_t n = g.across * g.channels, k
    cdef const float **a
    cdef const uint8_t **b
    if gathered is gathered_f32:
        a = to.to + tap * to.m + row
        for k in range(count):
            a[k] = <const float *>x + k * step
    elif gathered is gathered_codes:
        b = to.to + tap * to.m + row
        for k in range(count):
            b[k] = <const uint8_t *>x + k * step
    elif gathered is gathered_bf16:
        k = row * to.lda + tap * n
        if n == to.lda == step:     # one row after the other on both sides
            n, count = n * count, 1
        to.copy(count, n, <const float *>x, step, to.to + k, to.lda)
    else:
        k = row * to.lda + tap * n
        if n == to.lda == step and to.sums == NULL:
            n, count = n * count, 1
        to.copy(count, n, <const uint8_t *>x, step, to.flip, to.to + k, to.lda,
                to.sums + row if to.sums != NULL else NULL)


cdef inline void take_edge(const geometry *g, gathered *to, size_t tap, size_t row, size_t before, size_t inside,
                           const void *x) noexcept nogil:
    """A stretch of padding but for `inside` columns from x on, which have `before` columns before them."""
    cdef size_t n = g.across * g.channels, head = before * g.channels, count = inside * g.channels, at = tap * n
    if gathered is gathered_f32:
        to.to[tap * to.m + row] = <const float *>to.copies if count else to.zeros
        if count:
            memset(to.copies, 0, n * sizeof(float))
            memcpy(to.copies + head, x, count * sizeof(float))
            to.copies += n
    elif gathered is gathered_codes:
        to.to[tap * to.m + row] = <const uint8_t *>to.copies if count else to.pads
        if count:
            memset(to.copies, to.pad, n)
            memcpy(to.copies + head, x, count)
            to.copies += n
    elif gathered is gathered_bf16:
        at += row * to.lda
        memset(to.to + at, 0, n * sizeof(uint16_t))
        if count:
            to.copy(1, count, <const float *>x, 0, to.to + at + head, 0)
    else:
        at += row * to.lda
        memset(to.to + at, to.pad, n)
        if count:
            to.copy(1, count, <const uint8_t *>x, 0, to.flip, to.to + at + head, 0,
                    to.sums + row if to.sums != NULL else NULL)
        if to.sums != NULL:
            to.sums[row] += <uint32_t>to.pad * <uint32_t>(n - count)


cdef void take_parts(const geometry *g, gathered *to, size_t tap, size_t row, size_t count, const char *line,
                     ptrdiff_t ix) noexcept nogil:
    """The stretches of neighbouring pixels, the first from input column ix on, where some cross the border.

    line: the input row, NULL above and below the image.
    """
    cdef ptrdiff_t pixel = g.pixel * <ptrdiff_t>bytes_of_input(to), run, lo, hi
    while count:
        run = 1
        if line == NULL:
            take_edge(g, to, tap, row, 0, 0, NULL)
        elif 0 <= ix and ix + g.across <= g.width:
            run = min(<ptrdiff_t>count, (g.width - g.across - ix) // g.stride_x + 1)
            take(g, to, g.stride_x * g.pixel, tap, row, run, line + ix * pixel)
        else:
            lo = max(-ix, 0)
            hi = max(lo, min(g.across, g.width - ix))
            take_edge(g, to, tap, row, lo, hi - lo, line + (ix + lo) * pixel)
        ix += run * g.stride_x
        row += run
        count -= run


cdef void gather(const geometry *g, gathered *to, const void *x, size_t first, size_t last) noexcept nogil:
    """Rows of output pixels first..last-1 of the images at x."""
    cdef ptrdiff_t pixel = g.pixel * <ptrdiff_t>bytes_of_input(to)
    cdef ptrdiff_t area = g.out_height * g.out_width, at = first, end = last, step = g.stride_x * g.pixel
    cdef ptrdiff_t image, y, column, pixels, inner, iy, ix, i, j, tap
    cdef const char *line
    if g.plain:
        take(g, to, step, 0, 0, last - first, <const char *>x + at * pixel)
        return
    while at < end:
        image = at // area
        y = (at - image * area) // g.out_width
        column = at - image * area - y * g.out_width
        pixels = min(end - at, g.out_width - column)
        column = column * g.stride_x - g.left
        inner = g.width - g.across - (pixels - 1) * g.stride_x   # last column from which on all stretches are inside
        if gathered is gathered_q8:
            if to.images != NULL:
                to.pad = to.images[image].zero
        tap = 0
        for i in range(g.filter_height):
            iy = y * g.stride_y - g.top + i * g.dilation_y
            line = NULL
            if 0 <= iy < g.height:
                line = <const char *>x + (image * g.height + iy) * g.width * pixel
            j = 0
            while j < g.filter_width:
                ix = column + j * g.dilation_x
                if line != NULL and 0 <= ix <= inner:
                    take(g, to, step, tap, at - <ptrdiff_t>first, pixels, line + ix * pixel)
                else:
                    take_parts(g, to, tap, at - <ptrdiff_t>first, pixels, line, ix)
                tap += 1
                j += g.across
        at += pixels


cdef inline size_t pad_row(const geometry *g, ptrdiff_t row, size_t pixel, size_t pitch, uint8_t fill,
                           unsigned char *to, size_t *pixels) noexcept nogil:
    """Padding of input row `row` in a copy with `pixel` bytes to a pixel and `pitch` to a row, which begins at `to`.

    Returns where in it the pixels of the input belong; `pixels`: how many, 0 above and below the image.
    """
    cdef size_t head = min(g.left * pixel, pitch), tail
    pixels[0] = min(<size_t>g.width, (pitch - head) // pixel) if 0 <= row < g.height else 0
    tail = head + pixels[0] * pixel
    memset(to, fill, head)
    memset(to + tail, fill, pitch - tail)
    return head
