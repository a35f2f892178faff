cdef extern from "nnf/kernel.h":
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
    bint nnf_isa_includes(int level, int isa) nogil

# The row of the fastest kernel of `op` that the effective level allows; families take fn and the tile from it.
cdef const nnf_kernel *pick(str op) except NULL

# The scalar row of `op`: for the rare forms that only the reference covers.
cdef const nnf_kernel *pick_scalar(str op) except NULL

# At the end of a thread's share of a step whose kernel may use tiles.
cdef void release_tiles() noexcept nogil

# The level in force (enum nnf_isa), and the name of a level.
cdef int effective_isa() except -1
cdef str isa_name(int isa)
