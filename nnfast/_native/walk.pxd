cdef struct nnf_walk:
    size_t batch, times
    size_t in_time, in_batch, out_time, out_batch, out_start    # in elements
    bint backward


# Where step t of the walk finds its input, and where its output goes.
cdef inline const float *input_at(const nnf_walk *w, const float *x, size_t t, size_t b) noexcept nogil:
    return x + (w.times - 1 - t if w.backward else t) * w.in_time + b * w.in_batch


cdef inline float *output_at(const nnf_walk *w, float *y, size_t t, size_t b) noexcept nogil:
    return y + w.out_start + (w.times - 1 - t if w.backward else t) * w.out_time + b * w.out_batch


cdef class Walk:
    """How a recurrent layer goes through its sequences.

    in_strides, out_strides: elements from one time, and one batch row, to the next; out_start: elements of the output
    before the layer's first; backward: from the last time to the first.
    """
    cdef nnf_walk c
