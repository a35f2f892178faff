"""Multipliers of the step from sums to codes."""

from libc.math cimport floor, frexp
from libc.stdint cimport int32_t, int64_t


def real_multipliers(double scale_in, tuple scales, double scale_out, bint in_double):
    """float64 array: model.quant.conv_multiplier of the scales of channels, their products in float64 or in float32."""
    found = np.empty(len(scales))
    cdef double[::1] to = found
    cdef float first = <float>scale_in, weight, last = <float>scale_out
    cdef Py_ssize_t i
    for i in range(len(scales)):
        weight = <float><double>scales[i]
        to[i] = (<double>first * <double>weight if in_double else <double>(first * weight)) / <double>last
    return found


def multipliers(const double[::1] real):
    """int32 arrays (multiplier, exponent) of finite doubles >= 0: ops.requantize.multipliers for many at once."""
    cdef Py_ssize_t count = real.shape[0], i
    found = np.empty((2, count), np.int32)
    cdef int32_t[:, ::1] to = found
    cdef int64_t multiplier
    cdef int exponent = 0
    for i in range(count):
        multiplier = <int64_t>floor(frexp(real[i], &exponent) * 2147483648.0 + 0.5)
        if multiplier == <int64_t>1 << 31:
            multiplier, exponent = multiplier >> 1, exponent + 1
        if exponent < -31:
            multiplier = exponent = 0
        elif exponent > 31:
            multiplier, exponent = 0, 31
        to[0, i], to[1, i] = <int32_t>multiplier, exponent
    return found[0], found[1]
