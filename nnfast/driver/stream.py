"""Executions that carry state from one call to the next."""

import numpy as np

from ..errors import InvalidArgument


class Stream:
    """Runs a prepared model step by step; state outputs of one call are the state inputs of the next.

    One stream belongs to one caller at a time; several streams of one model are independent.
    """

    def __init__(self, prepared):
        self._prepared = prepared
        self._spare = {}
        self.reset()

    def reset(self):
        """Return to the initial state."""
        self._state = dict(self._prepared._initial)

    def run(self, inputs, out=None):
        """As PreparedModel.run, from the state of the previous call. The state is unchanged when it raises."""
        prepared = self._prepared
        by_name = isinstance(inputs, dict)
        if by_name:
            raise InvalidArgument("stream.run: takes a list of arrays in model order")
        state = {target: self._spare.pop(source, None) for source, target in prepared._state_pairs}
        state = {target: np.empty_like(self._state[source]) if state[target] is None else state[target]
                 for source, target in prepared._state_pairs}
        results = prepared._run(inputs, out, dict(self._state), state=state)
        for source, target in prepared._state_pairs:
            old = self._state[source]
            if old.flags.writeable:
                self._spare[source] = old
            self._state[source] = state[target]
        return results
