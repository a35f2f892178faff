# The implicit matrix product of a convolution, whatever its type: the pixels it reads, and how it is cut into tiles.
from libc.stddef cimport ptrdiff_t

from .kernels cimport nnf_kernel, tuning

cdef enum:
    CONV_GRAIN = 65536           # multiply-adds below which a second thread costs more than it saves
    PACKING_GRAIN = 262144       # bytes of packed weights, likewise
    WAY = 4096                   # bytes after which the sets of a level 1 cache come again
    LINE = 64                    # bytes of a line of it
    CROWD = 6                    # input rows of a tile that may use one set of it, beside weights and outputs
    COPIED = 8                   # panels of units from which on it pays to copy rows that crowd a set


ctypedef struct geometry:
    ptrdiff_t height, width, channels           # of the input
    ptrdiff_t pixel                             # elements between input pixels
    ptrdiff_t out_height, out_width
    ptrdiff_t filter_height, filter_width
    ptrdiff_t stride_y, stride_x, dilation_y, dilation_x, top, left
    bint plain                  # input pixel i is all that output pixel i reads
    ptrdiff_t across            # filter columns that are gathered as one tap, side by side in the image: all or one


ctypedef struct split:
    size_t rows, columns, depth     # of the whole product
    size_t m, n                     # of the kernel
    size_t tiles, panels, group     # group: tiles that share a panel before the next panel
    size_t line, parts              # rows of a line, which no tile leaves, and its tiles; 0: all rows are one
    size_t height, taller           # of a tile; so many tiles of a line are one row taller


# A way through (tile, panel) pairs item..last-1: a panel meets a group of tiles before the next panel does.
ctypedef struct walk:
    size_t item, last
    size_t base, count              # the tiles of the group
    size_t stop                     # where its pairs end, or the way does
    size_t tile, panel              # of the next pair


cdef inline int measure(geometry *g, window, size_t channels, size_t pixel) except -1:
    g.height, g.width = window.input
    g.channels = channels
    g.pixel = pixel
    g.out_height, g.out_width = window.output
    g.filter_height, g.filter_width = window.filter
    g.stride_y, g.stride_x = window.stride
    g.dilation_y, g.dilation_x = window.dilation
    g.top, g.left = window.head
    g.plain = window.filter == (1, 1) and window.stride == (1, 1) and window.output == window.input \
        and window.head == (0, 0)
    g.across = g.filter_width if g.dilation_x == 1 and pixel == channels else 1
    return 0


# Cuts so many rows, whole lines if there are any, into tiles.
cdef inline void cut(split *s, size_t rows) noexcept nogil:
    cdef size_t line = s.line or rows
    s.rows = rows
    s.parts = (line + s.m - 1) // s.m
    s.height = line // s.parts if s.parts else 0
    s.taller = line - s.parts * s.height
    s.tiles = s.parts * (rows // line) if line else 0


cdef inline int plan_split(split *s, size_t rows, size_t columns, size_t depth, const nnf_kernel *kernel,
                           size_t weight_bytes, size_t row_bytes, size_t near, size_t line=0) except -1:
    s.line = line
    s.columns = columns
    s.depth = depth
    s.m = kernel.m
    s.n = kernel.n
    s.panels = (columns + s.n - 1) // s.n
    cut(s, rows)
    # One tile after the other over all panels keeps inputs and outputs near, and so do the few tiles of `near` bytes
    # that are worth gathering at once. Weights beyond the cache are read once for a group of tiles instead.
    cdef size_t budget = near if weight_bytes <= tuning().conv_weights else tuning().conv_rows
    s.group = min(s.tiles, budget // (s.m * row_bytes))
    if s.group == 0:
        s.group = 1
    return 0


cdef inline size_t tile_start(const split *s, size_t tile) noexcept nogil:
    cdef size_t line = tile // s.parts if s.line else 0, part = tile - line * s.parts
    return line * s.line + part * s.height + min(part, s.taller)


# Goes to the group of the next pair; False at the end of the way.
cdef inline bint next_group(const split *s, walk *w) noexcept nogil:
    if w.item >= w.last:
        return False
    w.base = w.item // (s.group * s.panels) * s.group
    w.count = min(s.group, s.tiles - w.base)
    w.stop = min(w.last, (w.base + w.count) * s.panels)
    w.panel = (w.item - w.base * s.panels) // w.count
    w.tile = w.base + w.item - w.base * s.panels - w.panel * w.count
    return True


# Panels that the next tile takes at once: all that are left where it is alone in its group and its kernel is `wide`.
cdef inline size_t panels_at_once(const walk *w, bint wide) noexcept nogil:
    return w.stop - w.item if wide and w.count == 1 else 1


# Goes on to the next pair of the group after so many panels.
cdef inline void go_on(walk *w, size_t panels) noexcept nogil:
    w.item += panels
    w.tile += 1
    if w.tile == w.base + w.count:
        w.tile = w.base
        w.panel += panels


# Bytes from one gathered row of `size` bytes, whole words, to the next. Kernels that load tiles must not cross cache
# lines: short rows divide them.
cdef inline size_t row_pitch(size_t size, bint loads_tiles) noexcept nogil:
    cdef size_t unit = 4
    while loads_tiles and unit < size and unit < 64:
        unit *= 2
    return (size + unit - 1) // unit * unit


# Whether so many rows, `pitch` bytes apart, use the same sets of the level 1 cache and push each other out: of 1024
# inputs in float32 twelve rows have one address in a page.
cdef inline bint is_crowded(size_t pitch, size_t rows):
    cdef size_t off = min(pitch % WAY, WAY - pitch % WAY)
    return rows > CROWD * (off * (rows - 1) // LINE + 1)


# `pitch`, or as much more as keeps so many rows from crowding.
cdef inline size_t apart(size_t pitch, size_t rows):
    while is_crowded(pitch, rows):
        pitch += LINE
    return pitch


# `size` bytes rounded up to whole cache lines, as the packed weights of groups follow each other.
cdef inline size_t lines(size_t size) noexcept nogil:
    return (size + 63) // 64 * 64
