from libc.string cimport memcpy


# Where the products of a convolution step find their inputs and put their outputs; strides in elements. A step does
# `groups` products that differ in weights and place only.
ctypedef struct placement:
    size_t groups
    size_t pixel, group                         # between input pixels, and between the inputs of two groups
    size_t out_pixel, out_row, out_image        # between output pixels, rows of pixels, images
    size_t out_first, out_group
    bint scattered                              # the output pixels are not evenly spaced


# From an ops.conv2d.Placement, or dense tensors of one group when it is None.
cdef inline placement placement_of(place, size_t channels, size_t units, size_t out_height, size_t out_width):
    cdef placement p
    p.groups, p.pixel, p.group, p.out_first, p.out_group = 1, channels, 0, 0, 0
    p.out_pixel, p.out_row, p.out_image = units, out_width * units, out_height * out_width * units
    if place is not None:
        p.groups, p.pixel, p.group = place.groups, place.pixel, place.group
        p.out_pixel, p.out_row, p.out_image = place.out_pixel, place.out_row, place.out_image
        p.out_first, p.out_group = place.out_first, place.out_group
    p.scattered = p.out_row != out_width * p.out_pixel or p.out_image != out_height * p.out_row
    return p


# Where pixel x of a line, counted through all images, lies.
cdef inline char *pixel_of(const placement *p, size_t height, size_t line, size_t x, void *to,
                           size_t item) noexcept nogil:
    return <char *>to + (line // height * p.out_image + line % height * p.out_row + x * p.out_pixel) * item


# Puts output pixels first..last-1, `step` bytes apart in `tile`, where they belong; `count` elements of `item` bytes.
cdef inline void scatter(const placement *p, size_t height, size_t width, size_t first, size_t last, const void *tile,
                         size_t step, void *to, size_t count, size_t item) noexcept nogil:
    cdef size_t line = first // width, x = first % width, size = count * item
    cdef const char *from_ = <const char *>tile
    cdef char *pixel = pixel_of(p, height, line, x, to, item)
    for _ in range(first, last):
        if size == 1:
            pixel[0] = from_[0]
        else:
            memcpy(pixel, from_, size)
        from_ += step
        pixel += p.out_pixel * item
        x += 1
        if x == width:
            line, x = line + 1, 0
            pixel = pixel_of(p, height, line, 0, to, item)
