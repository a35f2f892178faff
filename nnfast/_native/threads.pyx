"""The one door to threads: how many there may be, and the team that runs native programs.

The team is ours (csrc/base/team.c) unless a device asks for OpenMP's: a forked child can use it, concurrent runs share
one process-wide cap, and idle workers spin for a bounded time before they sleep.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memset

import os

from .. import config

cdef extern from "nnf/program.h":
    int nnf_program_run(const nnf_program *program, const nnf_run *run, int threads, int spin_us, const int *cancel,
                        int64_t deadline_ns, int64_t *times_ns, size_t *done) nogil
    int nnf_step_leaves(const nnf_run *run) nogil

cdef extern from "nnf/gate.h":
    int NNF_PRIORITIES
    int nnf_gate_wait(const nnf_turn *turn, int threads, const int *cancel, int64_t deadline_ns) nogil

cdef extern from "nnf/clock.h":
    int64_t nnf_now_ns() nogil

cdef extern from "nnf/fair.h":
    void nnf_fair_init(nnf_fair *fair, int32_t capacity)
    int nnf_fair_waiting(nnf_fair *fair)
    bint nnf_fair_is_due(nnf_client *client, int threads, int wanted, int64_t began_ns)
    int64_t nnf_fair_used_ns(nnf_client *client) nogil
    int nnf_fair_enter(nnf_client *client, int *threads, int priority, const int *cancel, int64_t deadline_ns) nogil
    void nnf_fair_leave(nnf_client *client, int threads, int64_t spent_ns) nogil

cdef extern from "nnf/room.h":
    ctypedef struct nnf_room:
        pass

    void nnf_room_learn(nnf_room *room, nnf_history *history, int threads, int wanted, int64_t waited_ns,
                        int64_t ran_ns, int64_t now_ns)
    int nnf_room_wanted(nnf_history *history, int wanted)
    int nnf_room_advised(const nnf_room *room, int wanted, int64_t now_ns)
    void nnf_room_judge(nnf_room *room, int threads, bint was_late, int64_t now_ns)

cdef extern from "nnf/slice.h":
    ctypedef struct nnf_slice:
        pass

    ctypedef enum nnf_slice_step:
        NNF_SLICE_KEEP
        NNF_SLICE_ASK
        NNF_SLICE_YIELD

    bint nnf_slice_reads(nnf_slice *slice)
    bint nnf_slice_looks(nnf_slice *slice, int64_t now_ns)
    nnf_slice_step nnf_slice_next(nnf_slice *slice, int64_t now_ns, int64_t absences, int64_t tick_ns)
    void nnf_slice_begin(nnf_slice *slice, int64_t now_ns)

cdef extern from "nnf/team.h":
    void nnf_team_watch_forks()
    uint32_t nnf_team_forks() nogil
    int nnf_team_call(nnf_team_fn fn, void *argument, int spin_us) nogil
    int nnf_team_lease(int wanted) nogil
    void nnf_team_give_back(int leased) nogil
    void nnf_team_set_limit(int workers) nogil
    int nnf_team_limit() nogil
    int nnf_team_size() nogil
    int NNF_TEAM_MAX

cdef enum:
    SPIN_US = 100    # how long a waiting thread spins before it sleeps

MAX_THREADS = NNF_TEAM_MAX


cdef int run_program(const nnf_program *program, const nnf_run *run, int threads, const int *cancel,
                     int64_t deadline_ns, int64_t *times_ns, size_t *done) noexcept nogil:
    return nnf_program_run(program, run, threads, SPIN_US, cancel, deadline_ns, times_ns, done)


cdef bint step_leaves(const nnf_run *run) noexcept nogil:
    return nnf_step_leaves(run)


cdef int team_call(nnf_team_fn fn, void *argument, int spin_us) noexcept nogil:
    return nnf_team_call(fn, argument, spin_us)


cdef int team_lease(int wanted) noexcept nogil:
    return nnf_team_lease(wanted)


cdef void team_give_back(int leased) noexcept nogil:
    nnf_team_give_back(leased)


cdef class Team:
    """Threads that native programs run on."""

    def __cinit__(self, str name):
        self.name = name


OWN = Team("own")


cdef int run_alone(nnf_step_fn fn, const void *params, int threads) except -1:
    cdef nnf_step step
    cdef nnf_program program
    cdef nnf_run run
    cdef size_t done
    step.fn, step.params, step.slots = fn, params, NULL
    program.steps, program.count, program.threads, program.history = &step, 1, threads, NULL
    memset(&run, 0, sizeof(run))
    with nogil:
        nnf_program_run(&program, &run, threads, SPIN_US, NULL, 0, NULL, &done)
    return 0


def quota(proc="/proc", sys="/sys"):
    """Whole processors that the control group grants, or None: v2 `cpu.max`, v1 `cpu.cfs_quota_us`."""
    try:
        with open(f"{proc}/self/cgroup") as lines:
            groups = lines.read().splitlines()
    except OSError:
        return None
    found = []
    for group in groups:
        _, controllers, path = group.strip().split(":", 2)
        if controllers == "":
            found.append(_read_quota(f"{sys}/fs/cgroup{path}/cpu.max"))
            found.append(_read_quota(f"{sys}/fs/cgroup/cpu.max"))
        elif "cpu" in controllers.split(","):
            for folder in (f"{sys}/fs/cgroup/cpu{path}", f"{sys}/fs/cgroup/cpu"):
                found.append(_read_quota(f"{folder}/cpu.cfs_quota_us", f"{folder}/cpu.cfs_period_us"))
    found = [share for share in found if share]
    return max(1, int(min(found))) if found else None


def _read_quota(quota_file, period_file=None):
    try:
        with open(quota_file) as text:
            words = text.read().split()
        if period_file:
            with open(period_file) as text:
                words += text.read().split()
        if words[0] in ("max", "-1"):
            return None
        return int(words[0]) / int(words[1])
    except (OSError, ValueError, IndexError, ZeroDivisionError):
        return None


def available():
    """Processors this process may use: affinity mask, then control-group quota."""
    count = len(os.sched_getaffinity(0))
    granted = quota()
    return max(1, min(count, granted) if granted else count)


def default_threads():
    """Threads of a run where nobody says: NNFAST_NUM_THREADS, else available()."""
    wanted = config.get_int("NNFAST_NUM_THREADS", 1)
    return min(wanted or available(), MAX_THREADS)


def set_limit(int workers):
    """Most workers that concurrent runs may occupy together, beside the calling threads."""
    nnf_team_set_limit(workers)


def limit():
    return nnf_team_limit()


def team_size():
    """Worker threads alive in this process (0 before the first run with more than one thread)."""
    return nnf_team_size()


def now_ns():
    """The monotonic clock that deadlines and timings use."""
    return nnf_now_ns()


cdef class Fair:
    """What several clients share: while their executions want more than `capacity` cores, the client that has used the
    least core time goes next, and an execution of one that has used more stops for it between two steps."""

    def __cinit__(self, int capacity):
        if capacity < 1:
            raise ValueError(f"capacity is {capacity}, must be at least 1")
        nnf_team_watch_forks()
        nnf_fair_init(&self.c, capacity)

    @property
    def capacity(self):
        """Cores."""
        return self.c.capacity

    @property
    def running(self):
        """Threads of the executions that have been let in."""
        return self.c.running

    @property
    def waiting(self):
        """Executions that wait."""
        return nnf_fair_waiting(&self.c)


cdef class Gate:
    """Where the executions of one client meet: those of higher priority get the cores first [NN 8.1].

    capacity: threads for which there are cores. While executions of higher priority leave too few of them, others wait
    before they start and between their steps.
    """

    def __cinit__(self, int capacity):
        self.c.capacity = capacity
        nnf_team_watch_forks()

    def join(self, Fair fair):
        """Let this client's executions share the cores fairly with those of others. Once, before the first of them."""
        if self.fair is not None:
            raise ValueError("the gate has joined already")
        self.fair = fair
        self.client.fair = &fair.c
        self.c.client = &self.client

    @property
    def used_ns(self):
        """Core time that the client's executions have taken, in nanoseconds; 0 for one that shares with nobody."""
        return nnf_fair_used_ns(&self.client)


cdef class Turn:
    """The place of one model's executions at a gate. priority: 0 (low), 1 or 2 (high)."""

    def __cinit__(self, Gate gate, int priority):
        if not 0 <= priority < NNF_PRIORITIES:
            raise ValueError(f"priority is {priority}, must be 0 to {NNF_PRIORITIES - 1}")
        self.gate = gate
        self.c.gate = &gate.c
        self.c.priority = priority

    def use(self, int64_t deadline_ns=0, Cancel cancel=None):
        """A context in which one core is used by what is no native run: it begins when it is this one's turn, at the
        deadline, or when it is cancelled; the caller has to look at both."""
        return Use(self, deadline_ns, cancel)


cdef class Cancel:
    """A flag that stops running programs at their next step, or in the middle of a long one."""

    def set(self):
        nnf_cancel(&self.flag)

    @property
    def is_set(self):
        return nnf_cancelled(&self.flag)


cdef class Use:
    """See Turn.use."""

    cdef Turn turn
    cdef Cancel cancel
    cdef int64_t deadline_ns, began_ns
    cdef bint is_in
    cdef uint32_t forks     # of the process that has entered; a child that is forked in between has not

    def __cinit__(self, Turn turn, int64_t deadline_ns, Cancel cancel):
        self.turn, self.deadline_ns, self.cancel = turn, deadline_ns, cancel

    def __enter__(self):
        cdef const nnf_turn *turn = &self.turn.c
        cdef const int *flag = &self.cancel.flag if self.cancel is not None else NULL
        cdef int outcome, one = 1
        with nogil:
            outcome = nnf_gate_wait(turn, 1, flag, self.deadline_ns)
            if outcome == 0 and turn.gate.client != NULL:
                outcome = nnf_fair_enter(turn.gate.client, &one, turn.priority, flag, self.deadline_ns)
                self.is_in = outcome == 0
        self.forks = nnf_team_forks()
        self.began_ns = nnf_now_ns()
        return self

    def __exit__(self, *error):
        cdef int64_t spent_ns = nnf_now_ns() - self.began_ns
        if self.is_in and self.forks == nnf_team_forks():
            with nogil:
                nnf_fair_leave(self.turn.c.gate.client, 1, spent_ns)
        self.is_in = False

    @property
    def is_due(self):
        """Whether another client should have the core now: who uses it for long should leave, and enter again."""
        return self.is_in and nnf_fair_is_due(self.turn.c.gate.client, 1, 1, self.began_ns)


cdef class Room:
    """How many threads the runs of a program should take beside others (csrc/include/nnf/room.h), by a clock of the
    caller."""

    cdef nnf_room c
    cdef nnf_history history

    def advised(self, int wanted, int64_t now_ns):
        return nnf_room_advised(&self.c, wanted, now_ns)

    def wanted(self, int wanted):
        return nnf_room_wanted(&self.history, wanted)

    def judge(self, int threads, bint was_late, int64_t now_ns):
        nnf_room_judge(&self.c, threads, was_late, now_ns)

    def learn(self, int threads, int wanted, int64_t waited_ns, int64_t ran_ns, int64_t now_ns):
        nnf_room_learn(&self.c, &self.history, threads, wanted, waited_ns, ran_ns, now_ns)


cdef class Slice:
    """When a thread gives up a processor that others want too (csrc/include/nnf/slice.h), by clocks of the caller."""

    cdef nnf_slice c

    def next(self, int64_t now_ns, int64_t absences, int64_t tick_ns):
        """What it does before a share: "keep", "ask" or "yield". absences: times that it left or lost its processor."""
        if not (nnf_slice_reads(&self.c) and nnf_slice_looks(&self.c, now_ns)):
            return "keep"
        step = nnf_slice_next(&self.c, now_ns, absences, tick_ns)
        return "keep" if step == NNF_SLICE_KEEP else "ask" if step == NNF_SLICE_ASK else "yield"

    def begin(self, int64_t now_ns):
        """It has its processor again after it gave it up."""
        nnf_slice_begin(&self.c, now_ns)
