from libc.stdint cimport int32_t, int64_t

cdef extern from "nnf/fair.h":
    ctypedef struct nnf_fair:
        int32_t capacity
        int32_t running

    ctypedef struct nnf_client:
        nnf_fair *fair

cdef extern from "nnf/gate.h":
    ctypedef struct nnf_gate:
        int32_t capacity
        nnf_client *client

    ctypedef struct nnf_turn:
        nnf_gate *gate
        int32_t priority

cdef extern from "nnf/step.h":
    ctypedef void (*nnf_team_fn)(void *argument, int share, int shares) noexcept nogil
    ctypedef int (*nnf_team_next_fn)(void *argument, int shares) noexcept nogil
    ctypedef int (*nnf_team_run_fn)(nnf_team_fn fn, nnf_team_next_fn next, void *argument, int threads, int spin_us,
                                    int64_t *waited_ns) noexcept nogil

    ctypedef struct nnf_run:
        void **slot
        unsigned char *scratch
        size_t scratch_stride
        int *declined
        const nnf_turn *turn
        nnf_team_run_fn team

    ctypedef struct nnf_step

    ctypedef void (*nnf_step_fn)(const nnf_step *step, const nnf_run *run, int thread, int threads) noexcept nogil

    ctypedef struct nnf_step:
        nnf_step_fn fn
        const void *params
        const int32_t *slots
        int32_t parts
        int32_t pieces
        int32_t follows

    bint nnf_step_is_even(const nnf_step *step, int threads) noexcept nogil
    void nnf_decline(const nnf_run *run) noexcept nogil
    void nnf_share(size_t count, int thread, int threads, size_t *first, size_t *last) noexcept nogil
    void nnf_share_runs(size_t count, int thread, int threads, size_t *first, size_t *last) noexcept nogil
    cdef enum:
        NNF_RUN

cdef extern from "nnf/outcome.h":
    void nnf_cancel(int *flag) noexcept nogil
    bint nnf_cancelled(const int *flag) noexcept nogil

cdef extern from "nnf/program.h":
    ctypedef struct nnf_history:
        pass

    ctypedef struct nnf_program:
        const nnf_step *steps
        size_t count
        int threads
        nnf_history *history

    int nnf_step_shares(const nnf_run *run, int threads) noexcept nogil
    bint nnf_step_returns(const nnf_run *run) noexcept nogil

# One step by itself, on at most so many threads of the team; without the GIL.
cdef int run_alone(nnf_step_fn fn, const void *params, int threads) except -1

# One native run of a program on the process-wide team (csrc/include/nnf/program.h).
cdef int run_program(const nnf_program *program, const nnf_run *run, int threads, const int *cancel,
                     int64_t deadline_ns, int64_t *times_ns, size_t *done) noexcept nogil

# nnf_step_leaves: whether a step should return with its work half done (csrc/include/nnf/program.h).
cdef bint step_leaves(const nnf_run *run) noexcept nogil


# nnf_team_call, nnf_team_lease and nnf_team_give_back, for teams in other modules.
cdef int team_call(nnf_team_fn fn, void *argument, int spin_us) noexcept nogil
cdef int team_lease(int wanted) noexcept nogil
cdef void team_give_back(int leased) noexcept nogil


cdef class Team:
    cdef nnf_team_run_fn run
    cdef readonly str name


cdef class Fair:
    cdef nnf_fair c


cdef class Gate:
    cdef nnf_gate c
    cdef nnf_client client
    cdef readonly Fair fair


cdef class Turn:
    cdef nnf_turn c
    cdef readonly Gate gate


cdef class Cancel:
    cdef int flag
