cdef extern from "gemv/gemv.h":
    enum:
        NNF_GEMV_N

    ctypedef struct nnf_gemv_f32_panel:
        const float *packed
        const float *start
        const float *x0
        const float *x1
        size_t k0
        size_t k1
        size_t columns
        float *y
        float lo
        float hi

    ctypedef void (*nnf_gemv_f32_tile_fn)(const nnf_gemv_f32_panel *p) noexcept nogil

    ctypedef struct nnf_gemv_f32_matrix:
        const float *w0
        const float *w1
        const float *start
        const float *x0
        const float *x1
        size_t k0
        size_t k1
        size_t rows
        float *y
        float lo
        float hi

    ctypedef void (*nnf_gemv_f32_rows_fn)(const nnf_gemv_f32_matrix *p) noexcept nogil
