"""Failing cases made small: fewer outputs and operations, shorter dimensions, plainer values, as long as they fail."""

from dataclasses import replace

import numpy as np

from ..model.types import ChannelQuant, LifeTime
from .parts import golden, part
from .reference import evaluate

MOST_RUNS = 400
"""Candidates that are tried at most."""


class _Spent(Exception):
    """No more candidates may be tried."""


def minimize(case, fails, most=MOST_RUNS):
    """A smaller Case that fails as well. fails(case): whether a candidate does; most: how often it is asked."""
    return _Search(case, fails, most).run()


class _Search:
    def __init__(self, case, fails, most):
        self.case, self._fails, self._left = case, fails, most

    def run(self):
        try:
            self._fewer_operations()
            self._plain_dimensions()
            while self._shorter() | self._fewer_operations():
                pass
            self._plainer_values()
        except _Spent:
            pass
        return self.case

    def _try(self, make):
        """Take the candidate that make() gives, if any, and if it fails."""
        if not self._left:
            raise _Spent
        try:
            candidate = make()
        except Exception:  # the definitions cannot compute it: no rule keeps their values and shapes in order here
            return False
        if candidate is None:
            return False
        self._left -= 1
        if not self._fails(candidate):
            return False
        self.case = candidate
        return True

    # -- operations ----------------------------------------------------------------------------------------------------
    def _fewer_operations(self):
        """First what one output needs, then without ever smaller runs of operations."""
        before = len(self.case.model.main.operations)
        for operand in self.case.model.main.outputs if before > 1 else ():
            keep = ancestors(self.case.model.main, operand)
            if len(keep) < before and self._keep(keep):
                break
        size = len(self.case.model.main.operations) // 2
        while size:
            start = 0
            while start < (count := len(self.case.model.main.operations)) > 1:
                keep = [index for index in range(count) if not start <= index < start + size]
                if not keep or not self._keep(keep):
                    start += size
            size //= 2
        return len(self.case.model.main.operations) < before

    def _keep(self, keep):
        return self._try(lambda: part(self.case, keep, evaluate(self.case.model, self.case.inputs)))

    # -- dimensions ----------------------------------------------------------------------------------------------------
    def _plain_dimensions(self):
        """Declare what the model leaves open."""
        case = self.case

        def make():
            main, values = case.model.main, evaluate(case.model, case.inputs)
            known = dict(zip(main.inputs, case.inputs)) | values
            operands = [replace(operand, dims=known[place].shape) if known.get(place) is not None else operand
                        for place, operand in enumerate(main.operands)]
            return golden(case.name, case.model.with_main(operands=tuple(operands)), case.inputs)

        self._try(make)

    def _shorter(self):
        """Cut every axis of a size at once, then single axes of single arrays."""
        found = False
        sizes = sorted({size for _, array in _arrays(self.case) for size in array.shape if size > 1}, reverse=True)
        for size in sizes:
            found |= self._shorter_where(size, lambda place, axis, was, size=size: was == size)
        for place, array in _arrays(self.case):
            for axis, size in enumerate(array.shape):
                found |= self._shorter_where(size, lambda p, a, was, here=(place, axis, size): (p, a, was) == here)
        return found

    def _shorter_where(self, size, chosen):
        """Cut the axes of a size for which chosen(operand, axis, size) holds, to what is left of either end."""
        for smaller in dict.fromkeys((1, size // 2, size - 1)):
            for start in (0, size - smaller) if 0 < smaller < size else ():
                piece = slice(start, start + smaller)
                if self._try(lambda piece=piece: _cut(
                        self.case, lambda *axis: piece if chosen(*axis) else slice(axis[2]))):
                    return True
        return False

    # -- values --------------------------------------------------------------------------------------------------------
    def _plainer_values(self):
        """Inputs and constants whose values are 0 or 1 as far as they may be, in ever smaller pieces."""
        for place, array in _arrays(self.case):
            if array.size < 2:
                continue
            for plain in (0, 1):
                pieces = 1
                while pieces <= min(array.size, 8):
                    for nth in range(pieces):
                        span = slice(array.size * nth // pieces, array.size * (nth + 1) // pieces)
                        self._try(lambda place=place, span=span, plain=plain: _filled(self.case, place, span, plain))
                    pieces *= 2


def ancestors(graph, operand):
    """Numbers of the operations that an operand depends on, in order."""
    wanted, keep = {operand}, []
    for index in reversed(range(len(graph.operations))):
        if wanted & set(graph.operations[index].outputs):
            keep.append(index)
            wanted.update(graph.operations[index].inputs)
    return keep[::-1]


def _arrays(case):
    """(operand, array) of the inputs and constants of a case."""
    known = dict(zip(case.model.main.inputs, case.inputs))
    found = []
    for place, operand in enumerate(case.model.main.operands):
        array = operand.data if operand.is_constant else known.get(place)
        if array is not None:
            found.append((place, array))
    return found


def _with_arrays(case, changed):
    """The case with other arrays for some operands; what its operations write has the dimensions that come of it."""
    main, known = case.model.main, dict(zip(case.model.main.inputs, case.inputs))
    operands, results = list(main.operands), []
    for place, operand in enumerate(operands):
        if place in changed:
            array, channels = changed[place]
            array = np.ascontiguousarray(array)
            array.flags.writeable = False
            operand = replace(operand, dims=array.shape, channel_quant=channels)
            if operand.is_constant:
                operand = replace(operand, data=array)
            else:
                known[place] = array
        elif operand.lifetime in (LifeTime.TEMPORARY_VARIABLE, LifeTime.SUBGRAPH_OUTPUT):
            results.append(place)
            operand = replace(operand, dims=())
        operands[place] = operand
    inputs = tuple(known[place] for place in main.inputs)
    model = case.model.with_main(operands=tuple(operands))
    values = evaluate(model, inputs)
    for place in results:
        if main.operands[place].dims:
            operands[place] = replace(operands[place], dims=values[place].shape)
    return golden(case.name, case.model.with_main(operands=tuple(operands)), inputs)


def _cut(case, left):
    """The case with shorter arrays, None where none is. left(operand, axis, size): the slice that stays of an axis."""
    changed = {}
    for place, array in _arrays(case):
        pieces = tuple(left(place, axis, size) for axis, size in enumerate(array.shape))
        if array[pieces].shape != array.shape:
            channels = case.model.main.operands[place].channel_quant
            if channels is not None:
                channels = ChannelQuant(channels.dim, channels.scales[pieces[channels.dim]])
            changed[place] = array[pieces], channels
    return _with_arrays(case, changed) if changed else None


def _filled(case, place, span, plain):
    """The case with a piece of an array set to one value; None where it has that already."""
    array = dict(_arrays(case))[place]
    filled = array.reshape(-1).copy()
    filled[span] = plain
    if filled.tobytes() == array.tobytes():
        return None
    return _with_arrays(case, {place: (filled.reshape(array.shape), case.model.main.operands[place].channel_quant)},
                        undeclare=True)
