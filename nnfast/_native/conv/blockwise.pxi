"""The step of FULLY_CONNECTED with blockwise weights, by tiles of csrc/kernels/blockwise/blockwise.h."""

cdef extern from "blockwise/blockwise.h":
    enum:
        NNF_BLOCKWISE_N
        NNF_BLOCKWISE_M
        NNF_BLOCKWISE_GROUP

    ctypedef struct nnf_blockwise_tile:
        size_t rows, columns, blocks, groups
        const uint8_t *x
        size_t ldx
        const int32_t *firsts
        const nnf_row_codes *row
        const void *panel
        const float *bias
        float *y
        size_t ldy
        float lo, hi

    size_t nnf_blockwise_block(size_t groups) nogil
    int32_t nnf_blockwise_firsts(size_t groups, const uint8_t *x) nogil
    ctypedef void (*nnf_blockwise_qu8_qs8_f32_tile_fn)(const nnf_blockwise_tile *tile) noexcept nogil

BLOCKWISE_GROUP = NNF_BLOCKWISE_GROUP
"""What the size of a block must be a multiple of."""


cdef struct blockwise:
    nnf_blockwise_qu8_qs8_f32_tile_fn kernel
    size_t rows, units, blocks, groups
    float lo, hi


cdef void run_blockwise(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil:
    cdef const blockwise *p = <const blockwise *>step.params
    cdef const uint8_t *x = <const uint8_t *>run.slot[step.slots[0]]
    cdef const nnf_row_codes *made = <const nnf_row_codes *>run.slot[step.slots[1]]
    cdef const unsigned char *packed = <const unsigned char *>run.slot[step.slots[2]]
    cdef const float *bias = <const float *>run.slot[step.slots[3]]
    cdef float *y = <float *>run.slot[step.slots[4]]
    cdef int32_t *firsts = <int32_t *>(run.scratch + thread * run.scratch_stride)
    cdef nnf_blockwise_tile tile
    cdef size_t panel, last, row
    for row in range(p.rows * p.blocks):
        firsts[row] = nnf_blockwise_firsts(p.groups, x + row * p.groups * NNF_BLOCKWISE_GROUP)
    tile.blocks, tile.groups = p.blocks, p.groups
    tile.ldx = NNF_BLOCKWISE_GROUP * p.blocks * p.groups
    tile.ldy, tile.lo, tile.hi = p.units, p.lo, p.hi
    nnf_share((p.units + NNF_BLOCKWISE_N - 1) // NNF_BLOCKWISE_N, thread, threads, &panel, &last)
    while panel < last:
        tile.columns = min(<size_t>NNF_BLOCKWISE_N, p.units - panel * NNF_BLOCKWISE_N)
        tile.panel = packed + panel * p.blocks * nnf_blockwise_block(p.groups)
        tile.bias = bias + panel * NNF_BLOCKWISE_N
        row = 0
        while row < p.rows:
            tile.rows = min(<size_t>NNF_BLOCKWISE_M, p.rows - row)
            tile.x = x + row * tile.ldx
            tile.firsts = firsts + row * p.blocks
            tile.row = made + row
            tile.y = y + row * p.units + panel * NNF_BLOCKWISE_N
            p.kernel(&tile)
            row += tile.rows
        panel += 1


def packed_bytes_blockwise(size_t units, size_t blocks, size_t block):
    """Size of what pack_blockwise returns."""
    return (units + NNF_BLOCKWISE_N - 1) // NNF_BLOCKWISE_N * blocks * nnf_blockwise_block(block // NNF_BLOCKWISE_GROUP)


def pack_blockwise(weights, scales):
    """int8 weights [units, depth] from -8 to 7 and float32 scales [units, blocks] in panels; uint8 array."""
    units, blocks = scales.shape
    panels, groups = -(-units // NNF_BLOCKWISE_N), weights.shape[1] // blocks // NNF_BLOCKWISE_GROUP
    made = aligned_bytes(packed_bytes_blockwise(units, blocks, groups * NNF_BLOCKWISE_GROUP))
    codes = np.zeros((panels * NNF_BLOCKWISE_N, blocks, groups, NNF_BLOCKWISE_GROUP), np.int8)
    codes[:units] = weights.reshape(units, blocks, groups, NNF_BLOCKWISE_GROUP)
    codes = codes.reshape(panels, NNF_BLOCKWISE_N, blocks, groups, 2, NNF_BLOCKWISE_GROUP // 2)
    by = np.zeros((panels * NNF_BLOCKWISE_N, blocks), np.float32)
    by[:units] = scales
    parts = made.reshape(panels, blocks, -1)
    split = 4 * NNF_BLOCKWISE_N
    parts[..., :split].view(np.int32)[...] = codes.sum((3, 4, 5), np.int32).transpose(0, 2, 1)
    parts[..., split:2 * split].view(np.float32)[...] = by.reshape(panels, NNF_BLOCKWISE_N, blocks).transpose(0, 2, 1)
    halves = codes.view(np.uint8).transpose(4, 0, 2, 3, 1, 5).reshape(2, panels, blocks, -1)
    parts[..., 2 * split:] = halves[0] & 15 | halves[1] << 4
    return made


cdef class BlockwiseQ8(Step):
    """FULLY_CONNECTED of codes with blockwise weights; slots codes, the third of QuantizeRowsF32, packed, bias, y.

    rows: of QuantizeRowsF32; units, blocks, block: of pack_blockwise, whose blocks have `block` weights, a multiple of
    BLOCKWISE_GROUP; lo, hi: clamp of the fused activation.
    """

    cdef blockwise p

    def __init__(self, slots, size_t rows, size_t units, size_t blocks, size_t block, float lo, float hi):
        cdef const nnf_kernel *row = pick("blockwise_qu8_qs8_f32_tile")
        if units == 0 or rows == 0:
            raise ValueError("there must be rows and units")
        if block == 0 or block % NNF_BLOCKWISE_GROUP:
            raise ValueError(f"blocks of {block}, must be a multiple of {NNF_BLOCKWISE_GROUP}")
        self.p.kernel = <nnf_blockwise_qu8_qs8_f32_tile_fn>row.fn
        self.p.rows, self.p.units, self.p.blocks, self.p.groups = rows, units, blocks, block // NNF_BLOCKWISE_GROUP
        self.p.lo, self.p.hi = lo, hi
        self.packed = packed_bytes_blockwise(units, blocks, block)
        self.scratch = sizeof(int32_t) * rows * blocks
        self.work = <double>rows * units * blocks * block
        self.tiles = <int>min((units + NNF_BLOCKWISE_N - 1) // NNF_BLOCKWISE_N, <size_t>self.work // CONV_GRAIN + 1)
        self.part = PART_PRODUCTS
        self.bind(run_blockwise, &self.p, slots, row.name.decode())
