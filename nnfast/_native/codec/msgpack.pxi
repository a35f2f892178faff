"""Finds where values of msgpack begin and end, without decoding them: in a bounded number of steps, at any depth."""

from libc.stdint cimport uint8_t, uint64_t

cdef enum:
    BIN8 = 0xC4
    EXT8 = 0xC7
    FLOAT32 = 0xCA
    UINT8 = 0xCC
    INT8 = 0xD0
    FIXEXT1 = 0xD4
    STR8 = 0xD9
    ARRAY16 = 0xDC
    ARRAY32 = 0xDD
    MAP16 = 0xDE
    MAP32 = 0xDF


cdef uint64_t read_number(const uint8_t *data, size_t nbytes) noexcept nogil:
    """Big-endian."""
    cdef uint64_t value = 0
    cdef size_t i
    for i in range(nbytes):
        value = value << 8 | data[i]
    return value


cdef size_t length_bytes(uint8_t tag) noexcept nogil:
    """Bytes of the length that follows a tag."""
    if BIN8 <= tag < BIN8 + 3:
        return <size_t>1 << (tag - BIN8)
    if EXT8 <= tag < EXT8 + 3:
        return <size_t>1 << (tag - EXT8)
    if STR8 <= tag < STR8 + 3:
        return <size_t>1 << (tag - STR8)
    if tag == ARRAY16 or tag == MAP16:
        return 2
    if tag == ARRAY32 or tag == MAP32:
        return 4
    return 0


cdef bint measure(uint8_t tag, uint64_t length, uint64_t *nbytes, uint64_t *inside) noexcept nogil:
    """Bytes behind a tag and its length that belong to the value, and the values inside of it. False for no tag."""
    nbytes[0] = inside[0] = 0
    if tag <= 0x7F or tag >= 0xE0 or tag == 0xC0 or tag == 0xC2 or tag == 0xC3:
        return True
    if tag <= 0x8F:
        inside[0] = 2 * (tag & 0xF)
    elif tag <= 0x9F:
        inside[0] = tag & 0xF
    elif tag <= 0xBF:
        nbytes[0] = tag & 0x1F
    elif BIN8 <= tag < BIN8 + 3 or STR8 <= tag < STR8 + 3:
        nbytes[0] = length
    elif EXT8 <= tag < EXT8 + 3:
        nbytes[0] = length + 1
    elif tag == FLOAT32 or tag == FLOAT32 + 1:
        nbytes[0] = 4 << (tag - FLOAT32)
    elif UINT8 <= tag < UINT8 + 4:
        nbytes[0] = 1 << (tag - UINT8)
    elif INT8 <= tag < INT8 + 4:
        nbytes[0] = 1 << (tag - INT8)
    elif FIXEXT1 <= tag < FIXEXT1 + 5:
        nbytes[0] = 1 + (1 << (tag - FIXEXT1))
    elif tag == ARRAY16 or tag == ARRAY32:
        inside[0] = length
    elif tag == MAP16 or tag == MAP32:
        inside[0] = 2 * length
    else:
        return False
    return True


cdef bint next_value(const uint8_t *data, size_t size, size_t *at, uint64_t *inside) noexcept nogil:
    """Step over one value, but into an array or a map. False where there is none."""
    cdef size_t lengths
    cdef uint64_t nbytes
    cdef uint8_t tag
    if at[0] >= size:
        return False
    tag = data[at[0]]
    lengths = length_bytes(tag)
    if size - at[0] - 1 < lengths:
        return False
    if not measure(tag, read_number(data + at[0] + 1, lengths), &nbytes, inside):
        return False
    if size - at[0] - 1 - lengths < nbytes:
        return False
    at[0] += 1 + lengths + nbytes
    return True


def array_head(const unsigned char[::1] data, size_t at):
    """(elements, place of the first) of an array that begins at `at`. Raises ValueError for anything else."""
    cdef size_t size = data.shape[0]
    cdef uint64_t inside
    cdef uint8_t tag
    if at >= size:
        raise ValueError("the data ends early")
    tag = data[at]
    if not (0x90 <= tag <= 0x9F or tag == ARRAY16 or tag == ARRAY32):
        raise ValueError("Expected `array`")
    if not next_value(&data[0], size, &at, &inside):
        raise ValueError("the data ends early")
    return inside, at


def skip(const unsigned char[::1] data, size_t at, size_t count, size_t most_bytes, size_t most_values):
    """(values, end) of at most `count` values from `at` on that have no more bytes than this, and no more values with
    those inside of them. Looks at no more than that. Raises ValueError where there is none.
    """
    cdef size_t size = data.shape[0], end = at, start = at, done = 0, seen = 0
    cdef uint64_t pending, inside
    cdef int fault = 0
    with nogil:
        while done < count:
            pending = 1
            while pending and seen < most_values and at - start <= most_bytes:
                if not next_value(&data[0], size, &at, &inside):
                    fault = 1
                    break
                pending += inside - 1
                seen += 1
            if fault or pending or at - start > most_bytes:
                break
            done, end = done + 1, at
    if fault and not done:
        raise ValueError("the data ends early, or is malformed")
    return done, end
