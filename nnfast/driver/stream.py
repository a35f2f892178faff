"""Executions that carry state from one call to the next."""

import numpy as np

from .. import observe
from .arguments import in_list
from .execution import NO_LIMITS


class Stream:
    """Runs a prepared model step by step; state outputs of one call are the state inputs of the next.

    One stream belongs to one caller at a time; several streams of one model are independent.
    """

    def __init__(self, prepared):
        self._prepared = prepared
        self._initial = [array for _, array in prepared._initial]
        self._outputs = [target for _, target in prepared._state_pairs]
        self.reset()

    def reset(self):
        """Return to the initial state."""
        self._state, self._spare = self._initial, None

    @property
    def state(self):
        """The arrays that the next run starts from, in the order of Model.states; they may be written to."""
        if self._state is self._initial:
            state = self._new_state()
            for array, value in zip(state, self._initial):
                array[...] = value
            self._state, self._spare = state, None
        return self._state

    def _new_state(self):
        """Arrays for a state, which count as long as they are kept. Raises ResourceExhausted*."""
        made = [np.empty_like(array) for array in self._initial]
        for array in made:
            self._prepared._resources.take(array.nbytes, array, "stream: its state")
        return made

    def run(self, inputs, out=None):
        """As PreparedModel.run, from the state of the previous call. The state is unchanged when it raises."""
        return self._run(inputs, out, NO_LIMITS)

    def _run(self, inputs, out, limits):
        """As run, within execution.Limits."""
        prepared, state, target = self._prepared, self._state, self._spare
        if target is None:
            target = self._new_state()
        results = None
        if out is not None and type(out) is not list:
            out = in_list(out, "stream.run", "out")
        if prepared._runner is not None and not observe.watchers and not limits.deadline_ns:
            results = prepared._runner.run(list(inputs) if type(inputs) is list else in_list(inputs, "stream.run"), out,
                                           state, target, limits.cancel)
        if results is None:
            values = {source: array for (source, _), array in zip(prepared._state_pairs, state)}
            results = prepared._run(in_list(inputs, "stream.run"), out, values, limits,
                                    dict(zip(self._outputs, target)))
        # Two sets of arrays take turns; the initial values are never written.
        self._spare = None if state is self._initial else state
        self._state = target
        return results
