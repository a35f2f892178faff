"""Executions that carry state from one call to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arguments import in_list
from .execution import NO_LIMITS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .. import typed


class Stream:
    """Runs a prepared model repeatedly; state outputs of one call are the state inputs of the next.

        stream = prepared.stream()
        for x in frames:
            y, = stream.run([x])

    Made by PreparedModel.stream. Use a stream from one thread at a time; streams of one model are independent.
    """

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        self.reset()

    def reset(self) -> None:
        """Return to the initial state."""
        self._state, self._spare = self._executor.initial, None

    @property
    def state(self) -> list[typed.Array]:
        """Arrays that the next run starts from, in the order of Model.states; writable."""
        initial = self._executor.initial
        if self._state is initial:
            state = self._new_state()
            for array, value in zip(state, initial):
                array[...] = value
            self._state, self._spare = state, None
        return self._state

    def _new_state(self):
        """Arrays for all states, charged to the budget while they live. Raises ResourceExhausted*."""
        made = [np.empty_like(array) for array in self._executor.initial]
        for array in made:
            self._executor.resources.take(array.nbytes, array, "stream: its state")
        return made

    def run(self, inputs: Sequence[typed.Tensor | None], out: Sequence[typed.Array] | None = None) -> list[typed.Array]:
        """As PreparedModel.run, starting from the state of the previous call. An error leaves the state unchanged."""
        state, target = self._state, self._spare
        if target is None:
            return self.perform(inputs, out)
        results = self._executor.quick(inputs, out, state, target)
        if results is None:
            return self.perform(inputs, out, NO_LIMITS)
        self._state, self._spare = target, state
        return results

    def perform(self, inputs: Sequence[typed.Tensor | None], out: Sequence[typed.Array] | None = None,
                limits: Any = None) -> list[typed.Array]:
        """As run, within execution.Limits; without them, on the quick path where that takes it."""
        executor, state, target = self._executor, self._state, self._spare
        if target is None:
            target = self._new_state()
        results = executor.quick(inputs, out, state, target) if limits is None else None
        if results is None:
            if out is not None and type(out) is not list:
                out = in_list(out, "stream.run", "out")
            results = executor.perform(in_list(inputs, "stream.run"), out, limits or NO_LIMITS, state, target)
        # Two sets of arrays alternate; the initial values are never written.
        self._spare = None if state is executor.initial else state
        self._state = target
        return results
