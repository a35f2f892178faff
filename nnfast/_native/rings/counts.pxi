"""What a server counts, from any number of threads and without the GIL."""

from libc.stdint cimport int64_t, uint64_t


cdef extern from *:
    """
    #include <stdatomic.h>

    static inline void nnf_count(_Atomic uint64_t *counter, uint64_t more)
    {
        atomic_fetch_add(counter, more);
    }

    /* 0 stands for no value yet. */
    static inline void nnf_lower(_Atomic uint64_t *least, uint64_t value)
    {
        uint64_t old = atomic_load(least);
        while ((!old || value < old) && !atomic_compare_exchange_weak(least, &old, value)) {
        }
    }
    """
    void nnf_count(nnf_counter *counter, uint64_t more) nogil
    void nnf_lower(nnf_counter *least, uint64_t value) nogil
    int __builtin_clzll(unsigned long long) nogil


cpdef int bucket_of(uint64_t us) noexcept nogil:
    """Bucket of a duration in microseconds: four per power of two."""
    cdef int octave
    if us < 4:
        return <int>us
    octave = 63 - __builtin_clzll(us)
    return min(BUCKETS - 1, 4 * (octave - 1) + <int>(us >> (octave - 2) & 3))


cdef class Durations:
    """Counts of durations in microseconds by `bucket_of`; `total`: of all of them."""

    cdef void note(self, uint64_t us) noexcept nogil:
        nnf_count(&self.buckets[bucket_of(us)], 1)
        nnf_count(&self.count, 1)

    def add(self, int64_t us):
        """Count a duration."""
        self.note(max(us, 0))

    def merge(self, counts):
        """Count many durations, given by bucket."""
        cdef uint64_t more
        cdef int bucket
        for bucket in range(BUCKETS):
            more = counts[bucket]
            if more:
                nnf_count(&self.buckets[bucket], more)
                nnf_count(&self.count, more)

    @property
    def counts(self):
        """List of the counts, one for each bucket."""
        cdef int bucket
        found = []
        for bucket in range(BUCKETS):
            found.append(self.buckets[bucket])
        return found

    @property
    def total(self):
        return self.count


cdef class Runs:
    """How often something ran, and the nanoseconds of its shortest run."""

    cdef void note(self, int64_t spent_ns) noexcept nogil:
        nnf_count(&self.count, 1)
        nnf_lower(&self.best, max(spent_ns, 1))

    def add(self, int64_t spent_ns):
        """Count a run."""
        self.note(spent_ns)

    def merge(self, uint64_t more):
        """Count runs whose time nobody knows."""
        nnf_count(&self.count, more)

    @property
    def total(self):
        return self.count

    @property
    def best_ns(self):
        """0 before the first run."""
        return self.best


cdef class Calls:
    """Calls that run now; none begins after `stop`."""

    cdef bint begin(self) noexcept nogil:
        nnf_count(&self.running, 1)
        if self.stopped:
            self.end()
            return False
        return True

    cdef void end(self) noexcept nogil:
        nnf_count(&self.running, <uint64_t>-1)

    def enter(self):
        """A call begins; False when it may not."""
        return self.begin()

    def leave(self):
        """The call is over."""
        self.end()

    def stop(self):
        """Let no more calls begin."""
        self.stopped = 1

    @property
    def count(self):
        """How many calls run."""
        return self.running
