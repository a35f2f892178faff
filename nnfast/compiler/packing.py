"""What planning derives from the values of constants at some cost: packed weights, and facts about values.

A plan made from scratch makes them and keeps note, so that they can be stored (driver/cache.py). A plan made again
takes them from there, in the same order, and does not look at the constants. All that steers access to memory, like
sizes, slots and strides, is computed then: stored arrays hold nothing but numbers to calculate with. A plan whose steps
have records is not even made again (stored_plan.py).
"""

import numpy as np

from ..errors import GeneralFailure
from ..model.withheld import Withheld


class Packing:
    """Makes packed arrays.

    arrays: all of one plan, in order; early: positions of those whose numbers planning itself reads; read: the
    constants whose values the plan reads elsewhere, too. spare: the constants that a
    stored plan does without, None where the plan was made from scratch.
    """

    spare = None

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
    """Hands out packed arrays that were stored, in their order, or a whole plan that was.

    late: positions of those that are still being read: nobody looks at their numbers before `finish`. plan: None, or
    (positions of the arrays that it reads itself, plan(model, kept, resources) -> (Segment, [(array, fits)]) as
    stored_plan.restore gives them).
    """

    def __init__(self, arrays, late=frozenset(), plan=None):
        super().__init__()
        self._stored, self._late, self._plan = list(arrays), late, plan
        self._unchecked = []

    def restored(self, model, kept, resources):
        """The Segment that was stored for a resolved, valid model; None where none was. Raises GeneralFailure."""
        if self._plan is None:
            return None
        self.early, plan = self._plan
        segment, self._unchecked = plan(model, kept, resources)
        self.arrays, segment.packing = self._stored, self
        self.spare = frozenset(place for place, operand in enumerate(model.main.operands)
                               if type(operand.data) is Withheld)
        return segment

    def take(self, dtype, make, fits, is_read=False):
        """The next array, if it can be what make() would give. Raises GeneralFailure."""
        place = len(self.arrays)
        if place == len(self._stored):
            raise GeneralFailure(f"compilation cache: has {place} packed arrays, the plan needs more; prepare the "
                                 f"model from its source")
        array, is_late = self._stored[place], place in self._late
        if array.dtype != dtype or array.ndim != 1 or is_read and is_late:
            _refuse(array)
        self._note(array, is_read)
        if is_late:
            self._unchecked.append((array, fits))
        elif not fits(array):
            _refuse(array)
        return array

    def finish(self):
        """All arrays have been read: refuse those that do not fit, or that the plan has not asked for. Raises
        GeneralFailure."""
        for array, fits in self._unchecked:
            if not fits(array):
                _refuse(array)
        self._unchecked = []
        if len(self.arrays) != len(self._stored):
            raise GeneralFailure(f"compilation cache: has {len(self._stored)} packed arrays, the plan needs "
                                 f"{len(self.arrays)}; prepare the model from its source")


def _refuse(array):
    raise GeneralFailure(f"compilation cache: a packed array ({array.dtype}, shape {list(array.shape)}) is not what "
                         f"the plan needs; prepare the model from its source")


def fact(packing, find):
    """The truth of find(), a function of values."""
    return bool(packing.take(np.uint8, lambda: np.array([find()], np.uint8), lambda found: found.nbytes == 1, True)[0])
