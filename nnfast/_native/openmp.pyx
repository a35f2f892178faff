"""The team of OpenMP's threads (csrc/base/team_openmp.c), loaded when a device asks for it: the library comes along."""

from libc.stdint cimport int64_t

from .threads cimport Team, nnf_team_fn, nnf_team_next_fn, team_call, team_give_back, team_lease

cdef extern from "nnf/team.h":
    ctypedef struct nnf_team_door:
        int (*call)(nnf_team_fn fn, void *argument, int spin_us) noexcept nogil
        int (*lease)(int wanted) noexcept nogil
        void (*give_back)(int leased) noexcept nogil

    void nnf_team_openmp_init(nnf_team_door door)
    int nnf_team_openmp_run(nnf_team_fn fn, nnf_team_next_fn next, void *argument, int threads, int spin_us,
                            int64_t *waited_ns) noexcept nogil


cdef nnf_team_door door
door.call, door.lease, door.give_back = team_call, team_lease, team_give_back
nnf_team_openmp_init(door)

cdef Team openmp = Team("openmp")
openmp.run = nnf_team_openmp_run
TEAM = openmp
