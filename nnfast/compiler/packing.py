"""What planning derives from the values of constants at some cost: packed weights, and facts about values.

A plan made from scratch makes them and keeps note, so that they can be stored (driver/cache.py). A plan made again
takes them from there, in the same order, and does not look at the constants. All that steers access to memory, like
sizes, slots and strides, is computed either way: stored arrays hold nothing but numbers to calculate with.
"""

import numpy as np

from ..errors import GeneralFailure


class Packing:
    """Makes packed arrays.

    arrays: all of one plan, in order; early: positions of those whose numbers planning itself reads; read: the
    constants whose values the plan reads elsewhere, too.
    """

    def __init__(self):
        self.arrays, self.early, self.read = [], set(), set()

    def take(self, dtype, make, fits, is_read=False):
        """The array of make(), of that dtype. fits(array): whether an array that somebody else stored can be one, and
        does no harm whatever numbers it holds. is_read: planning itself reads the numbers."""
        array = make()
        self._note(array, is_read)
        return array

    def _note(self, array, is_read):
        if is_read:
            self.early.add(len(self.arrays))
        self.arrays.append(array)


class StoredPacking(Packing):
    """Hands out packed arrays that were stored, in their order.

    late: positions of those that are still being read: nobody looks at their numbers before `finish`.
    """

    def __init__(self, arrays, late=frozenset()):
        super().__init__()
        self._stored, self._late = list(arrays), late
        self._unchecked = []

    def take(self, dtype, make, fits, is_read=False):
        """The next array, if it can be what make() would give. Raises GeneralFailure."""
        place = len(self.arrays)
        if place == len(self._stored):
            raise GeneralFailure(f"compilation cache: has {place} packed arrays, the plan needs more; prepare the "
                                 f"model from its source")
        array, is_late = self._stored[place], place in self._late
        if array.dtype != dtype or array.ndim != 1 or is_read and is_late:
            self._refuse(place)
        self._note(array, is_read)
        if is_late:
            self._unchecked.append((place, fits))
        elif not fits(array):
            self._refuse(place)
        return array

    def finish(self):
        """All arrays have been read: refuse those that do not fit, or that the plan has not asked for. Raises
        GeneralFailure."""
        for place, fits in self._unchecked:
            if not fits(self.arrays[place]):
                self._refuse(place)
        self._unchecked = []
        if len(self.arrays) != len(self._stored):
            raise GeneralFailure(f"compilation cache: has {len(self._stored)} packed arrays, the plan needs "
                                 f"{len(self.arrays)}; prepare the model from its source")

    def _refuse(self, place):
        array = self._stored[place]
        raise GeneralFailure(f"compilation cache: packed array {place} ({array.dtype}, shape {list(array.shape)}) "
                             f"is not what the plan needs; prepare the model from its source")


def fact(packing, find):
    """The truth of find(), a function of values."""
    return bool(packing.take(np.uint8, lambda: np.array([find()], np.uint8), lambda found: found.nbytes == 1, True)[0])
