"""Executions that carry state from one call to the next."""

import numpy as np

from .arguments import in_list
from .execution import NO_LIMITS


class Stream:
    """Runs a prepared model step by step; state outputs of one call are the state inputs of the next.

    One stream belongs to one caller at a time; several streams of one model are independent.
    """

    def __init__(self, executor):
        self._executor = executor
        self.reset()

    def reset(self):
        """Return to the initial state."""
        self._state, self._spare = self._executor.initial, None

    @property
    def state(self):
        """The arrays that the next run starts from, in the order of Model.states; they may be written to."""
        initial = self._executor.initial
        if self._state is initial:
            state = self._new_state()
            for array, value in zip(state, initial):
                array[...] = value
            self._state, self._spare = state, None
        return self._state

    def _new_state(self):
        """Arrays for a state, which count as long as they are kept. Raises ResourceExhausted*."""
        made = [np.empty_like(array) for array in self._executor.initial]
        for array in made:
            self._executor.resources.take(array.nbytes, array, "stream: its state")
        return made

    def run(self, inputs, out=None):
        """As PreparedModel.run, from the state of the previous call. The state is unchanged when it raises."""
        return self.perform(inputs, out)

    def perform(self, inputs, out=None, limits=None):
        """As run, within execution.Limits."""
        executor, state, target = self._executor, self._state, self._spare
        if target is None:
            target = self._new_state()
        results = executor.quick(inputs, out, state, target) if limits is None else None
        if results is None:
            if out is not None and type(out) is not list:
                out = in_list(out, "stream.run", "out")
            results = executor.perform(in_list(inputs, "stream.run"), out, limits or NO_LIMITS, state, target)
        # Two sets of arrays take turns; the initial values are never written.
        self._spare = None if state is executor.initial else state
        self._state = target
        return results
