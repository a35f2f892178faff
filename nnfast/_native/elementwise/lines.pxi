"""Tables of bytes that are straight, or bent once, as lines (struct nnf_line of activation.h)."""

from libc.stdint cimport int64_t, uint8_t, uint16_t
from libc.string cimport memset

cdef extern from "activation/activation.h":
    ctypedef struct nnf_line:
        bint is_bent
        int shift
        uint16_t slope[2]
        uint16_t limit[2]
        uint16_t offset
        uint8_t flip
        uint8_t least
        uint8_t most
        uint8_t part
        uint8_t base

cdef enum:
    STEEPEST = 65535        # of what 16 bits hold
    NEAR_SLOPES = 4         # slopes tried on either side of the roomiest
    BENDS = 8               # places tried for a bend, with one part in eight
    OVERSHOOT = 128         # of lines beyond the ends of bytes, where 16 bits have room for it


# Values between `first` and `last`, which ascend. Those of a line are (256 x slope + v) >> (16 + shift), where v is
# `part` times its slope and a whole multiple of 2^16.
cdef struct stretch:
    const uint8_t *values
    int first
    int last
    int shift


# The v that give them all with a slope: `count` from `least` on, none if it is not above 0. turn > 0 where steeper
# slopes have more of them, < 0 where flatter ones have.
cdef struct room:
    int64_t slope
    int64_t least
    int64_t count
    int turn


# The lowest and highest result that count as this value: those at the ends are also what a line has that goes beyond.
cdef int lowest(const stretch *s, int x) noexcept nogil:
    return s.values[x] - (OVERSHOOT if s.values[x] == 0 and s.shift < 8 else 0)


cdef int highest(const stretch *s, int x) noexcept nogil:
    return s.values[x] + (OVERSHOOT if s.values[x] == 255 and s.shift < 8 else 0)


cdef room room_with(const stretch *s, int64_t slope) noexcept nogil:
    cdef int x, tight_above = s.first, tight_below = s.first
    cdef int64_t unit = (<int64_t>1) << (16 + s.shift), need, over = 0, under = 0
    for x in range(s.first, s.last + 1):
        need = unit * lowest(s, x) - 256 * x * slope
        if x == s.first or need > over:
            over, tight_above = need, x
        need = unit * (highest(s, x) + 1) - 256 * x * slope
        if x == s.first or need < under:
            under, tight_below = need, x
    return room(slope, over, under - over, tight_above - tight_below)


# With the slope that has most, or any that has some. Their count is concave in the slope.
cdef room widest(const stretch *s, bint any_will_do) noexcept nogil:
    cdef int64_t unit = (<int64_t>1) << (8 + s.shift), run = max(s.last - s.first, 1)
    cdef int64_t low = max(0, unit * (lowest(s, s.last) - highest(s, s.first) - 1) // run)
    cdef int64_t high = min(STEEPEST, unit * (highest(s, s.last) - lowest(s, s.first) + 1) // run + 1)
    cdef room here, most = room(0, 0, 0, 0)
    while low <= high:
        here = room_with(s, (low + high) // 2)
        if here.count > most.count:
            most = here
        if here.turn == 0 or (any_will_do and here.count > 0):
            break
        if here.turn > 0:
            low = here.slope + 1
        else:
            high = here.slope - 1
    return most


# The last place up to which, or the first from which on, values lie on one line.
cdef int straight_end(const stretch *s, bint from_end) noexcept nogil:
    cdef int reach = 0, most = s.last - s.first, middle
    cdef stretch some = s[0]
    while reach < most:
        middle = (reach + most + 1) // 2
        if from_end:
            some.first = s.last - middle
        else:
            some.last = s.first + middle
        if widest(&some, True).count > 0:
            reach = middle
        else:
            most = middle - 1
    return s.last - reach if from_end else s.first + reach


# The whole multiples of 2^16 of such v, from low to high; none if low > high.
cdef struct span:
    int64_t low
    int64_t high


cdef span span_with(const room *r, int part) noexcept nogil:
    return span((r.least - part * r.slope + 65535) >> 16, (r.least + r.count - 1 - part * r.slope) >> 16)


# As a word's product with the slope has it.
cdef int64_t upper_half(int64_t word, int64_t slope) noexcept nogil:
    return (word * slope) >> 16


# The least word whose product with the slope has this upper half.
cdef int64_t word_for(int64_t half, int64_t slope) noexcept nogil:
    return ((half << 16) + slope - 1) // slope if slope else 0


cdef bint fit_straight(const stretch *s, nnf_line *line) noexcept nogil:
    cdef room found = widest(s, False)
    cdef int64_t slope = found.slope
    cdef int step, part
    cdef span offset
    for step in range(2 * NEAR_SLOPES + 1):
        slope += step if step % 2 else -step
        if slope < 0 or slope > STEEPEST:
            continue
        found = room_with(s, slope)
        for part in range(256 if found.count > 0 else 0):
            offset = span_with(&found, part)
            if offset.low <= offset.high:
                line.is_bent, line.part = False, <uint8_t>part
                line.slope[0], line.offset = <uint16_t>slope, <uint16_t>offset.low
                return True
    return False


# Left of the bend the second piece stands at its limit, right of it the first does. Between the last word on the left
# and the first on the right either may go on for a while, so that the step there is what the offsets of the pieces
# need; which of them does so first decides what is between.
cdef bint fit_bent(const stretch *left, const stretch *right, nnf_line *line) noexcept nogil:
    cdef room first = widest(left, False), second = widest(right, False)
    cdef int part, way
    if first.count <= 0 or second.count <= 0:
        return False
    for part in range(0, 256, 8):
        for way in range(2):
            if join(left, &first, right, &second, part, way, line) and is_between(left, right, line):
                return True
    return False


cdef bint join(const stretch *left, const room *first, const stretch *right, const room *second, int part,
               bint second_first, nnf_line *line) noexcept nogil:
    cdef int64_t near = 256 * left.last + part, far = 256 * right.first + part, step, own
    cdef int64_t by_first = upper_half(far, first.slope) - upper_half(near, first.slope)
    cdef int64_t by_second = upper_half(far, second.slope) - upper_half(near, second.slope)
    cdef span here = span_with(first, part), there = span_with(second, part)
    # here = offset + upper_half(limit[1], second), there = offset + upper_half(limit[0], first)
    step = max(0, there.low - here.high - upper_half(near, first.slope) + upper_half(far, second.slope))
    by_first = min(by_first, max(0, step - by_second) if second_first else step)
    own = upper_half(near, first.slope) + by_first
    line.limit[0] = <uint16_t>max(near, word_for(own, first.slope))
    there.low, there.high = there.low - own, there.high - own
    own = upper_half(far, second.slope) - min(by_second, step - by_first)
    line.limit[1] = <uint16_t>min(far, max(near, word_for(own + 1, second.slope) - 1))
    here.low, here.high = here.low - own, here.high - own
    line.is_bent, line.part, line.offset = True, <uint8_t>part, <uint16_t>max(here.low, there.low)
    line.slope[0], line.slope[1] = <uint16_t>first.slope, <uint16_t>second.slope
    return max(here.low, there.low) <= min(here.high, there.high)


# Whether the line gives the values between two stretches.
cdef bint is_between(const stretch *left, const stretch *right, const nnf_line *line) noexcept nogil:
    cdef int64_t word, sum_there
    cdef int x
    for x in range(left.last + 1, right.first):
        word = 256 * x + line.part
        sum_there = line.offset + upper_half(min(word, line.limit[0]), line.slope[0])
        sum_there += upper_half(max(word, line.limit[1]), line.slope[1])
        if (sum_there & 65535) >> line.shift != left.values[x]:
            return False
    return True


cdef bint fit(const stretch *s, nnf_line *line) noexcept nogil:
    cdef int end = straight_end(s, False), start, bend, step, way
    cdef stretch left = s[0], right = s[0]
    line.shift = s.shift
    if end == s.last and fit_straight(s, line):
        return True
    start = straight_end(s, True)
    for step in range(min(BENDS, end - start + 3)):
        bend = (start + end) // 2 + ((step + 1) // 2 if step % 2 else -(step // 2))
        for way in range(2):
            # with the value at the bend on the left, or on neither side
            left.last, right.first = bend - way, bend + 1
            if s.first <= left.last <= end and start <= right.first <= s.last and fit_bent(&left, &right, line):
                return True
    return False


# The least slope that the steepest piece may have, times 2^16.
cdef int64_t steepness(const uint8_t *values, int first, int last) noexcept nogil:
    cdef int64_t most = 0
    cdef int x, run = min(16, last - first)
    for x in range(first, last - run + 1):
        most = max(most, 65536 * (values[x + run] - values[x] - 1) // run)
    return most


# Whether a line gives the bytes of the table; if so, which. Codes and values are tried in the order of bytes with and
# without a sign, codes in the opposite order as well.
cdef bint find_line(const uint8_t *table, nnf_line *line) noexcept nogil:
    cdef uint8_t values[256]
    cdef int way, x, tries
    cdef uint8_t flip, up
    cdef int64_t steep
    cdef stretch s
    for way in range(8):
        flip = (0x80 if way & 1 else 0) ^ (0xFF if way & 2 else 0)
        up = 0x80 if way & 4 else 0
        for x in range(256):
            values[x] = table[x ^ flip] ^ up
            if x > 0 and values[x] < values[x - 1]:
                break
        else:
            s.values, s.first, s.last, s.shift = &values[0], 0, 255, 8
            while s.first < 255 and values[s.first + 1] == values[0]:
                s.first += 1
            while s.last > 0 and values[s.last - 1] == values[255]:
                s.last -= 1
            if s.first >= s.last:
                continue
            steep = steepness(values, s.first, s.last)
            while s.shift > 1 and steep >> (8 - s.shift) > STEEPEST:
                s.shift -= 1
            for tries in range(min(2, s.shift)):
                memset(line, 0, sizeof(line[0]))
                if fit(&s, line):
                    # bytes with a sign
                    line.flip, line.base = flip, up ^ 0x80
                    line.offset -= <uint16_t>(128 << s.shift)
                    line.least, line.most = <uint8_t>s.first, <uint8_t>s.last
                    return True
                s.shift -= 1
    return False
