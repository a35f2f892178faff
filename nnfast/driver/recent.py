"""The native path of models whose shapes, or values that shapes follow from, only executions know."""

import threading

import numpy as np

from ..compiler.planner import KEPT_PLANS, identity
from ..forks import renewed


class RecentPlans:
    """Runners of the whole plans that the last executions used.

    places: {operand: place among the arrays that callers give}.
    """

    def __init__(self, places):
        self._places = places
        self._known = ()  # (Segment, Runner or None, [(place, identity of the value)]), the last used first
        self._is_open, self._lock = True, renewed(threading.Lock())

    def run(self, inputs, out=None, states_in=None, states_out=None, cancel=None):
        """As Runner.run, by a plan for the shapes and values of the inputs; None where there is none."""
        if type(inputs) not in (list, tuple) or len(inputs) != len(self._places):
            return None
        for _, runner, values in self._known:
            if runner is not None and all(_is(inputs[place], value) for place, value in values):
                results = runner.run(inputs, out, states_in, states_out, cancel)
                if results is not None:
                    return results
        return None

    def learn(self, planner, make):
        """Keep the plan that an execution of this Planner used, if it is whole; returns True if it is new.

        make(segment, shapes): a Runner of a Segment that covers the graph, for these input shapes, or None. It is not
        kept: it refers to the model, which goes with its last user and not with the next collection of cycles.
        """
        found = planner.latest()
        if found is None:
            return False
        segment, shapes, values = found
        if any(segment is known for known, _, _ in self._known) or any(o not in self._places for o, _ in values):
            return False
        runner = make(segment, shapes)
        if runner is not None:
            segment.release_idle()  # the Runner has frames of its own
        row = segment, runner, [(self._places[operand], value) for operand, value in values]
        with self._lock:
            if self._is_open:
                self._known = (row, *self._known)[:KEPT_PLANS]
        return runner is not None

    def runners(self):
        """All Runners kept."""
        return [runner for _, runner, _ in self._known if runner is not None]

    def close(self):
        """Forget all plans, and learn no more."""
        with self._lock:
            self._known, self._is_open = (), False


def _is(array, value):
    return isinstance(array, np.ndarray) and identity(array) == value
