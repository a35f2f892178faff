"""Fingerprints of byte strings as LSH_PROJECTION defines them: FarmHash "na", 64 bits."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

import numpy as np

cdef enum:
    SEED = 4    # bytes of the seed before each row

cdef uint64_t K0 = 0xc3a5c85c97cb3127
cdef uint64_t K1 = 0xb492b66fbe98f273
cdef uint64_t K2 = 0x9ae16a3b2f90404f


cdef inline uint64_t word(const uint8_t *at) noexcept nogil:
    cdef uint64_t value
    memcpy(&value, at, 8)
    return value


cdef inline uint64_t half_word(const uint8_t *at) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, at, 4)
    return value


cdef inline uint64_t rotate(uint64_t v, int count) noexcept nogil:
    return v >> count | v << (64 - count)


cdef inline uint64_t shift_mix(uint64_t v) noexcept nogil:
    return v ^ v >> 47


cdef inline uint64_t mix(uint64_t u, uint64_t v, uint64_t m) noexcept nogil:
    cdef uint64_t a = shift_mix((u ^ v) * m)
    return shift_mix((v ^ a) * m) * m


cdef uint64_t up_to_16(const uint8_t *s, size_t n) noexcept nogil:
    cdef uint64_t m = K2 + 2 * n, a, b
    if n >= 8:
        a, b = word(s) + K2, word(s + n - 8)
        return mix(rotate(b, 37) * m + a, (rotate(a, 25) + b) * m, m)
    if n >= 4:
        return mix(n + (half_word(s) << 3), half_word(s + n - 4), m)
    if n == 0:
        return K2
    a = (s[0] + (<uint64_t>s[n // 2] << 8)) * K2
    b = (n + (<uint64_t>s[n - 1] << 2)) * K0
    return shift_mix(a ^ b) * K2


# Up to 64 bytes: the part that all lengths above 16 begin with, then what more than 32 bytes add.
cdef uint64_t up_to_64(const uint8_t *s, size_t n) noexcept nogil:
    cdef uint64_t m = K2 + 2 * n, a = word(s) * (K2 if n > 32 else K1), b = word(s + 8), c = word(s + n - 8) * m
    cdef uint64_t y = rotate(a + b, 43) + rotate(c, 30) + word(s + n - 16) * K2
    cdef uint64_t z = mix(y, a + rotate(b + K2, 18) + c, m), e, f, g, h
    if n <= 32:
        return z
    e, f = word(s + 16) * m, word(s + 24)
    g, h = (y + word(s + n - 32)) * m, (z + word(s + n - 24)) * m
    return mix(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g, m)


cdef struct state:
    uint64_t x, y, z
    uint64_t v[2]
    uint64_t w[2]


cdef inline void weak(uint64_t *to, const uint8_t *s, uint64_t a, uint64_t b) noexcept nogil:
    cdef uint64_t c
    a = a + word(s)
    b = rotate(b + a + word(s + 24), 21)
    c = a
    a = a + word(s + 8) + word(s + 16)
    to[0] = a + word(s + 24)
    to[1] = b + rotate(a, 44) + c


cdef inline void block(state *t, const uint8_t *s, uint64_t m, uint64_t by) noexcept nogil:
    cdef uint64_t y = t.y + t.v[1] + word(s + 48), z
    t.x = rotate(t.x + t.y + t.v[0] + word(s + 8), 37) * m
    t.y = rotate(y, 42) * m
    t.x = t.x ^ t.w[1] * by
    t.y = t.y + t.v[0] * by + word(s + 40)
    t.z = rotate(t.z + t.w[0], 33) * m
    weak(t.v, s, t.v[1] * m, t.x + t.w[0])
    weak(t.w, s + 32, t.z + t.w[1], t.y + word(s + 16))
    z = t.z
    t.z = t.x
    t.x = z


cdef uint64_t fingerprint(const uint8_t *s, size_t n) noexcept nogil:
    cdef state t
    cdef uint64_t m
    cdef size_t at
    if n <= 16:
        return up_to_16(s, n)
    if n <= 64:
        return up_to_64(s, n)
    t.x, t.y = 81 * K2 + word(s), 81 * K1 + 113
    t.z = shift_mix(t.y * K2 + 113) * K2
    t.v[0] = t.v[1] = t.w[0] = t.w[1] = 0
    for at in range(0, 64 * ((n - 1) // 64), 64):
        block(&t, s + at, K1, 1)
    m = K1 + ((t.z & 255) << 1)
    t.w[0] += (n - 1) & 63
    t.v[0] += t.w[0]
    t.w[0] += t.v[0]
    block(&t, s + n - 64, m, 9)
    return mix(mix(t.v[0], t.w[0], m) + shift_mix(t.y) * K0 + t.z, mix(t.v[1], t.w[1], m) + t.x, m)


def fingerprint64(const uint8_t[:, ::1] keys):
    """uint64[n]: the fingerprint of each row of uint8[n, length]."""
    cdef size_t i, length = keys.shape[1]
    result = np.empty(keys.shape[0], np.uint64)
    cdef uint64_t[::1] prints = result
    with nogil:
        for i in range(<size_t>keys.shape[0]):
            prints[i] = fingerprint(&keys[i, 0] if length else NULL, length)
    return result


def add_scores(double[::1] scores, const uint8_t[:, ::1] seeds, const uint8_t[:, ::1] rows, const double[::1] weights,
               uint8_t[::1] key):
    """Add to the score of each seed, uint8[n, 4], the weighted fingerprints of (seed, row), row after row.

    key: memory for a row and its seed.
    """
    cdef size_t i, k, length = rows.shape[1]
    cdef int64_t value
    if scores.shape[0] != seeds.shape[0] or seeds.shape[1] != SEED or weights.shape[0] != rows.shape[0] or \
            <size_t>key.shape[0] != length + SEED:
        raise ValueError("sizes do not fit")
    with nogil:
        for i in range(<size_t>rows.shape[0]):
            if length:
                memcpy(&key[SEED], &rows[i, 0], length)
            for k in range(<size_t>seeds.shape[0]):
                memcpy(&key[0], &seeds[k, 0], SEED)
                value = <int64_t>fingerprint(&key[0], length + SEED)
                scores[k] += weights[i] * <double>value
