"""Steps of HEATMAP_MAX_KEYPOINT."""

from libc.math cimport fabsf, isfinite, roundf
from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t

from .engine cimport Step
from .kernels cimport nnf_kernel, pick
from .threads cimport nnf_decline, nnf_run, nnf_share, nnf_step

cdef extern from "arg/arg.h":
    ctypedef void (*nnf_arg_across_f32_rows_fn)(size_t count, size_t stride, size_t n, const float *x, int32_t *y,
                                                unsigned int flip) noexcept nogil

cdef extern from "reduce/reduce.h":
    ctypedef struct nnf_reduce:
        size_t count[2]
        size_t stride[2]
        int32_t divisor
        uint8_t flip

    ctypedef void (*nnf_reduce_f32_fn)(const nnf_reduce *p, size_t results, size_t apart, size_t n, const float *x,
                                       float *y) noexcept nogil

cdef enum:
    HEATMAP_GRAIN = 16384  # elements below which a second thread costs more than it saves


cdef struct heatmap:
    nnf_arg_across_f32_rows_fn peaks
    nnf_reduce_f32_fn sums
    nnf_reduce whole
    size_t boxes, size, keypoints
    float tolerance
    bint coded, is_signed     # heatmap and scores are codes, boxes and keypoints uint16
    float scale, box_scale, score_scale
    int32_t zero, score_zero


# A value as a code, halves away from zero.
cdef inline int32_t code_of(float value, float scale, int32_t zero, int32_t low, int32_t high) noexcept nogil:
    cdef float place = roundf(value / scale + <float>zero)
    return low if place < <float>low else high if place > <float>high else <int32_t>place


# The peak of the quadratic through the 3 x 3 pixels around (x, y) of a map: (score, steps in x and in y). Float
# arithmetic of the reference, step by step.
cdef inline void peak_of(const float *map, size_t size, size_t keypoints, size_t y, size_t x, float tolerance,
                         float *score, float *right, float *down) noexcept nogil:
    cdef size_t rows[3]
    cdef size_t columns[3]
    cdef float g[3][3]
    cdef float twice, b0, b1, a00, a11, a01, product, det, d0, d1, longest, shorter
    cdef int i, k
    rows[0], rows[1], rows[2] = y - 1 if y else 1, y, y + 1 if y + 1 < size else size - 2
    columns[0], columns[1], columns[2] = x - 1 if x else 1, x, x + 1 if x + 1 < size else size - 2
    for i in range(3):
        for k in range(3):
            g[i][k] = map[(rows[i] * size + columns[k]) * keypoints]
    twice = <float>2 * g[1][1]
    b0, b1 = <float>-0.5 * (g[1][2] - g[1][0]), <float>-0.5 * (g[2][1] - g[0][1])
    a00, a11 = g[1][0] - twice + g[1][2], g[0][1] - twice + g[2][1]
    a01 = <float>0.25 * (g[2][2] - g[2][0] - g[0][2] + g[0][0])
    product = a00 * a11
    det = product - a01 * a01
    d0, d1 = (a11 * b0 - a01 * b1) / det, (a00 * b1 - a01 * b0) / det
    longest = max(fabsf(d0), fabsf(d1))
    shorter = <float>1.5 / longest if longest > <float>1.5 else <float>1
    d0, d1 = d0 * shorter, d1 * shorter
    score[0] = g[1][1] - b0 * d0 - b1 * d1 + <float>0.5 * ((a00 * d0 + a01 * d1) * d0 + (a01 * d0 + a11 * d1) * d1)
    right[0], down[0] = d0, d1
    if fabsf(det) < tolerance + tolerance * product or not isfinite(score[0]):
        score[0], right[0], down[0] = g[1][1], 0, 0


cdef inline void dequantize(const heatmap *p, const uint8_t *codes, size_t count, float *y) noexcept nogil:
    cdef size_t i
    cdef int32_t code
    for i in range(count):
        code = <int32_t><int8_t>codes[i] if p.is_signed else <int32_t>codes[i]
        y[i] = <float>(code - p.zero) * p.scale


cdef void run_heatmap(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const heatmap *p = <const heatmap *>step.params
    cdef const void *boxes = run.slot[step.slots[1]]
    cdef void *scores = run.slot[step.slots[2]]
    cdef void *places = run.slot[step.slots[3]]
    cdef size_t count = p.size * p.size * p.keypoints
    cdef int32_t *peaks = <int32_t *>(run.scratch + thread * run.scratch_stride)
    cdef float *real = <float *>(peaks + p.keypoints)
    cdef const float *map
    cdef size_t number, first, last, k, at, i, x, y
    cdef float corner[4]
    cdef float step_of[2]
    cdef float score, total, place
    nnf_share(p.boxes, thread, threads, &first, &last)
    for number in range(first, last):
        for i in range(4):
            corner[i] = <float>(<const uint16_t *>boxes)[4 * number + i] * p.box_scale if p.coded else \
                (<const float *>boxes)[4 * number + i]
        if p.coded:
            dequantize(p, <const uint8_t *>run.slot[step.slots[0]] + number * count, count, real)
            map = real
        else:
            map = <const float *>run.slot[step.slots[0]] + number * count
        # A sum that is no number tells of a NaN, or of infinities, which the reference takes.
        p.sums(&p.whole, 1, 0, count, map, &total)
        if total != total or not (corner[0] <= corner[2] and corner[1] <= corner[3]):
            nnf_decline(run)
            return
        p.peaks(p.size * p.size, p.keypoints, p.keypoints, map, peaks, 0)
        for k in range(p.keypoints):
            y, x = <size_t>peaks[k] // p.size, <size_t>peaks[k] % p.size
            peak_of(map + k, p.size, p.keypoints, y, x, p.tolerance, &score, &step_of[0], &step_of[1])
            at = number * p.keypoints + k
            if not p.coded:
                (<float *>scores)[at] = score
            elif p.is_signed:
                (<int8_t *>scores)[at] = <int8_t>code_of(score, p.score_scale, p.score_zero, -128, 127)
            else:
                (<uint8_t *>scores)[at] = <uint8_t>code_of(score, p.score_scale, p.score_zero, 0, 255)
            for i in range(2):
                place = <float>(y if i else x) + step_of[i]
                place = (place + <float>0.5) / <float>p.size * (corner[2 + i] - corner[i]) + corner[i]
                if p.coded:
                    (<uint16_t *>places)[2 * at + i] = <uint16_t>code_of(place, p.box_scale, 0, 0, 65535)
                else:
                    (<float *>places)[2 * at + i] = place


cdef class HeatmapPeaks(Step):
    """Peaks of heatmaps [boxes, size, size, keypoints]; slots heatmap, boxes, scores, keypoints, and what else must
    stay as it is until this step has run.

    types: f32, qu8 or qs8 (then boxes and keypoints are uint16 of box_scale); size >= 2; tolerance: of a flat
    quadratic; quantization: (scale, zero point) of heatmap and scores. Declines NaNs and corners out of order.
    """

    cdef heatmap p

    def __init__(self, slots, str types, size_t boxes, size_t size, size_t keypoints, float tolerance,
                 float box_scale=0, quantization=None):
        cdef const nnf_kernel *row = pick("arg_across_f32_rows")
        self.p.peaks = <nnf_arg_across_f32_rows_fn>row.fn
        self.p.sums = <nnf_reduce_f32_fn>pick("reduce_sum_f32_rows").fn
        self.p.whole.count[0] = self.p.whole.count[1] = self.p.whole.divisor = 1
        self.p.boxes, self.p.size, self.p.keypoints = boxes, size, keypoints
        self.p.tolerance, self.p.box_scale = tolerance, box_scale
        self.p.coded, self.p.is_signed = types != "f32", types == "qs8"
        if self.p.coded:
            (self.p.scale, self.p.zero), (self.p.score_scale, self.p.score_zero) = quantization
        self.work = boxes * size * size * keypoints
        self.scratch = 4 * (keypoints + (size * size * keypoints if self.p.coded else 0))
        self.tiles = <int>max(1, min(1 + <size_t>self.work // HEATMAP_GRAIN, boxes, 64))
        self.bind(run_heatmap, &self.p, slots, row.name.decode())
