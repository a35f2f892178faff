from .threads cimport nnf_share, nnf_step, nnf_step_is_even


cdef extern from "nnf/window.h":
    ctypedef struct nnf_axis:
        size_t size
        size_t out
        size_t taps
        size_t stride
        size_t dilation
        size_t head


# Axis 0 (height) or 1 (width) of an ops.window.Window, or of anything with the same fields.
cdef inline nnf_axis axis_of(win, int axis):
    cdef nnf_axis a
    a.size = win.input[axis]
    a.out = win.output[axis]
    a.taps = win.filter[axis]
    a.stride = win.stride[axis]
    a.dilation = win.dilation[axis]
    a.head = win.head[axis]
    return a


# What one thread does: rows first..last-1 of all images together, channel blocks begin..end-1.
ctypedef struct portion:
    size_t first
    size_t last
    size_t begin
    size_t end


# Splits the output rows of `images` images, or the channel blocks where that costs the slowest thread less and shares
# of the step need not be even. What it reads of others comes from their caches: of rows those around its own, of blocks
# all but its share of the rows, since a thread has mostly made the rows that it goes on with. Such a row costs about
# half as much as a tap of an output row; costs are in quarters of a tap, and a share has others on one side or on both.
cdef inline portion portion_of(const nnf_step *step, const nnf_axis *a, size_t images, size_t blocks, int thread,
                               int threads) noexcept nogil:
    cdef portion p
    cdef size_t n = threads, rows = images * a.out, sources = images * a.size, each = 4 * a.taps
    cdef size_t reach = (a.taps - 1) * a.dilation + 1, around = reach - a.stride if reach > a.stride else 0
    p.first, p.last, p.begin, p.end = 0, rows, 0, blocks
    if n == 1:
        return p
    if not nnf_step_is_even(step, threads) and (blocks + n - 1) // n * (each * rows + 2 * (sources - sources // n)) \
            < ((rows + n - 1) // n * each + min(n - 1, 2) * around) * blocks:
        nnf_share(blocks, thread, threads, &p.begin, &p.end)
        if p.begin == p.end:
            p.last = 0
    else:
        nnf_share(rows, thread, threads, &p.first, &p.last)
    return p
