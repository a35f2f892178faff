# Words that several threads or processes change (csrc/include/nnf/ring.h).
from libc.stdint cimport uint32_t, uint64_t

cdef extern from "nnf/ring.h":
    ctypedef uint32_t nnf_flag "_Atomic uint32_t"
    ctypedef uint64_t nnf_counter "_Atomic uint64_t"
