"""Results that planning derives from the values of constants at some cost: packed weights, and facts about values.

Planning from scratch computes and records them, so that they can be stored (driver/cache.py). Planning again takes the
stored ones, in the same order, without reading the constants. Everything that determines memory accesses, such as
sizes, slots and strides, is computed anew: stored arrays are data only. A plan whose steps have records is restored
without planning (stored_plan.py).
"""

import numpy as np

from ..errors import GeneralFailure


class Packing:
    """Makes packed arrays.

    arrays: all of one plan, in order; early: positions of those whose numbers planning itself reads; read: constants
    whose values the plan also reads directly. spare: the constants that a stored plan does not need, None if the plan
    was made from scratch. blamed: exceptions of lowering that are the arrays' fault, not a mistake of ours.
    """

    spare, blamed = None, ()

    def __init__(self):
        self.arrays, self.early, self.read = [], set(), set()

    def take(self, dtype, make, fits, is_read=False):
        """The array of make(), of that dtype. fits(array): whether a stored array has the right form and is harmless
        whatever numbers it holds. is_read: planning itself reads the numbers."""
        array = make()
        self._note(array, is_read)
        return array

    def _note(self, array, is_read):
        if is_read:
            self.early.add(len(self.arrays))
        self.arrays.append(array)


class StoredPacking(Packing):
    """Hands out stored packed arrays in order, or a whole stored plan.

    late: positions of those still being read from the file: their numbers are unused before `finish`. plan: None, or
    (positions of the arrays that it reads itself, plan(model, kept, resources) -> (Segment, [(array, fits)]) as
    stored_plan.restore gives them). left_out: operand indexes of the constants that were not stored with the plan.
    """

    blamed = (ValueError,)
    """Steps raise it for arrays of another size; late arrays meet no check before."""

    def __init__(self, arrays, late=frozenset(), plan=None, left_out=frozenset()):
        super().__init__()
        self._stored, self._late, self._plan, self._left_out = list(arrays), late, plan, left_out
        self._unchecked = []

    def restored(self, model, kept, resources):
        """The stored Segment for a resolved, valid model, or None. Raises GeneralFailure."""
        if self._plan is None:
            return None
        self.early, plan = self._plan
        segment, self._unchecked = plan(model, kept, resources)
        self.arrays, segment.packing = self._stored, self
        self.spare = self._left_out
        return segment

    def take(self, dtype, make, fits, is_read=False):
        """The next stored array; raises GeneralFailure if make() cannot have made it."""
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
        """Check the rest once all arrays were read: raises GeneralFailure if one does not fit or was not used."""
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
    """The bool result of find(), a function of values."""
    return bool(packing.take(np.uint8, lambda: np.array([find()], np.uint8), lambda found: found.nbytes == 1, True)[0])
