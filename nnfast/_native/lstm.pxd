cdef extern from "lstm/lstm.h":
    enum:
        NNF_LSTM_N

    ctypedef struct nnf_lstm_form:
        int gates
        int peephole
        int activation
        float clip

    ctypedef struct nnf_lstm_tile:
        const float *packed
        const float *start
        const float *x
        const float *h
        const float *c_in
        size_t k_x
        size_t k_h
        size_t units
        float *c_out
        float *y

    ctypedef struct nnf_lstm_row:
        float *sums
        size_t stride
        size_t units
        const float *bias[4]
        const float *peephole[4]
        const float *normal[4]
        const float *c_in
        float *c_out
        float *y

    ctypedef void (*nnf_lstm_f32_tile_fn)(const nnf_lstm_form *form, const nnf_lstm_tile *tile) noexcept nogil
    ctypedef void (*nnf_lstm_f32_rows_fn)(const nnf_lstm_form *form, const nnf_lstm_row *row) noexcept nogil
