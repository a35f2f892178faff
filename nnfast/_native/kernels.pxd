cdef extern from "nnf/kernel.h":
    enum:
        NNF_ISA_SCALAR, NNF_ISA_AVX2, NNF_ISA_AVX512, NNF_ISA_AVX512VNNI, NNF_ISA_NEON

    ctypedef void (*nnf_fn)() noexcept nogil

    ctypedef struct nnf_kernel:
        const char *name
        const char *op
        int isa
        int tolerance
        int ulp
        int m
        int n
        int k
        nnf_fn fn

    const nnf_kernel *nnf_kernels(size_t *count) nogil
    const nnf_kernel *nnf_kernel_pick(const char *op, int isa) nogil

cdef extern from "nnf/tuning.h":
    ctypedef struct nnf_tuning:
        size_t level1, level2
        size_t conv_weights, conv_rows, conv_streamed, conv_prefetch, conv_own_weights
        size_t winograd_near, winograd_roomy, winograd_many, winograd_nearest, winograd_few
        size_t bf16_near, bf16_tall, bf16_slice, bf16_nearest, bf16_nearer, bf16_prefetch
        size_t q8_near, q8_tall, q8_streamed, q8_light, lines_near

# Sizes that follow from the caches of this machine.
cdef const nnf_tuning *tuning() except NULL

# The row of the fastest kernel of `op` that the effective level allows; families take fn and the tile from it.
cdef const nnf_kernel *pick(str op) except NULL

# The scalar row of `op`: for the rare forms that only the reference covers.
cdef const nnf_kernel *pick_scalar(str op) except NULL

# At the end of a thread's share of a step whose kernel may use tiles.
cdef void release_tiles() noexcept nogil

# The level in force (enum nnf_isa), whether what is built for a level may run there, and the name of a level.
cdef int effective_isa() except -1
cdef bint includes(int isa) except -1
cdef str isa_name(int isa)
