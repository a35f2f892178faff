"""Counts of what there is only so much of: bytes, descriptors, threads.

Nothing here releases the interpreter lock, waits or runs Python code between a look at a count and its change. So no
lock is needed, and finalizers may give back whenever the collector runs them, also in the middle of a `take`.
"""

cimport cython
from libc.stdint cimport int64_t

cdef extern from *:
    """
    static inline void change_count(int64_t *used, int64_t more)
    {
        __atomic_fetch_add(used, more, __ATOMIC_RELAXED);
    }

    static inline int64_t count_now(const int64_t *used)
    {
        return __atomic_load_n(used, __ATOMIC_RELAXED);
    }
    """
    void change_count(int64_t *used, int64_t more) nogil
    int64_t count_now(const int64_t *used) nogil

UNLIMITED = 1 << 62
"""The limit of a Tally that only counts."""


class Full(Exception):
    """A Tally has no room. tally: which."""

    def __init__(self, tally):
        super().__init__(f"{tally.name} is {tally.limit}, {tally.used} are in use")
        self.tally = tally


@cython.no_gc
cdef class Tally:
    """At most `limit` at a time here, and what the tallies above allow. name: of the limit, in refusals.

    shared: one of several below `above`, which must leave as much to the others as it takes: it never holds more than
    what is still free there. However much one takes, the next one gets something.

    small: so much it may hold in any case while there is room above, where the others leave an eighth for that.
    """

    def __cinit__(self, int64_t limit, str name, Tally above=None, bint shared=False, int64_t small=0):
        if shared and above is None:
            raise ValueError(f"{name}: a shared tally needs one above it")
        self.limit, self.name, self.above, self.shared, self.small = limit, name, above, shared, small

    @property
    def free_above(self):
        """What the tally above has for one that holds more than a little."""
        return max(0, self.above.limit - self.above.used - self._reserve())

    cdef int64_t _reserve(self):
        return self.above.limit // 8 if self.small else 0

    cdef bint _fits(self, int64_t count):
        if count > self.limit - self.used:
            return False
        if not self.shared or self.used + count <= self.small:
            return True
        return self.used + count <= self.above.limit - self.above.used - self._reserve() - count

    cdef bint is_full(self) noexcept nogil:
        """For those who have no GIL: whether there is no room here; nothing is said of the tallies above."""
        return count_now(&self.used) >= self.limit

    cdef void _add(self, int64_t count):
        cdef Tally at = self
        while at is not None:
            change_count(&at.used, count)
            at = at.above

    cpdef Tally take(self, int64_t count):
        """Count so many more, here and above. Returns None, or the Tally that has no room: nothing is counted then."""
        cdef Tally at = self
        while at is not None:
            if not at._fits(count):
                return at
            at = at.above
        self._add(count)
        return None

    def give_back(self, int64_t count):
        """Count so many less, here and above."""
        self._add(-count)


@cython.no_gc
cdef class Charge:
    """What was taken from a Tally: given back by `release`, or with the last reference, once.

    only_here: it counts in `tally` and not above, because it counts there for somebody else already.
    """

    cdef Tally tally
    cdef int64_t count
    cdef bint only_here

    def __cinit__(self, Tally tally not None, int64_t count, bint only_here=False):
        cdef Tally full
        if only_here:
            full = tally if count > tally.limit - tally.used else None
            if full is None:
                change_count(&tally.used, count)
        else:
            full = tally.take(count)
        if full is not None:
            raise Full(full)
        self.tally, self.count, self.only_here = tally, count, only_here

    def lift(self):
        """Count from now on in the topmost Tally alone, nowhere when there is none above: what is held for all does not
        use up one's own share."""
        cdef Tally at = self.tally
        if self.only_here or at.above is None:
            self.release()
            return
        while at.above is not None:
            change_count(&at.used, -self.count)
            at = at.above
        self.tally = at

    def release(self):
        """Give it back."""
        cdef int64_t count = self.count
        self.count = 0
        if count and self.only_here:
            change_count(&self.tally.used, -count)
        elif count:
            self.tally._add(-count)

    def __dealloc__(self):
        if self.tally is not None:
            self.release()
