"""Resource variables that all subgraphs of an Interpreter share, as LiteRT's do."""

import numpy as np

from ..model.types import dtype_of
from ..tflite.states import Generator, Held


class Outdated(Exception):
    """A variable has another shape or type than the program was made for."""


class Variables:
    """Values of the variables of a file by name.

    A value is an array, or the Shared of the program that has run last, in whose stream it lies. done: numbers of the
    subgraphs of CALL_ONCE that have run.
    """

    def __init__(self):
        self._values, self.done = {}, set()

    def held(self):
        """What a translation needs to know of the present values."""
        return Held({name: self.value(name) for name in self._values}, frozenset(self.done))

    def holder(self, name):
        return self._values.get(name)

    def value(self, name):
        """The array of a variable that has a value."""
        holder = self._values[name]
        return holder.value(name) if isinstance(holder, Shared) else holder

    def store(self, values):
        """Set {name: array or Shared}."""
        self._values |= values


class Shared:
    """The variables of one program between its stream and the interpreter's Variables."""

    def __init__(self, variables, stream, model, builder):
        self._all, self._stream = variables, stream
        self._once = dict(builder.graphs.once)
        inputs = {state.input: place for place, state in enumerate(model.states)}
        kept = builder.graphs.kept
        self._places = {name: (inputs[builder.inputs.index(operand)], dtype_of(kept[name].type), kept[name].dims)
                        for name, operand in builder.variable_inputs.items() if not isinstance(name, Generator)}
        self._read = [name for name in self._places if name not in builder.stored_only]

    def value(self, name):
        """A view of a variable in the stream."""
        place, dtype, dims = self._places[name]
        return self._stream.state[place].reshape(-1).view(dtype).reshape(dims)

    def load(self):
        """Before a run: what other programs have stored. Raises Outdated, RuntimeError."""
        for index, values in self._once.items():
            if index not in self._all.done:
                self._all.done.add(index)
                self._all.store(values)
        for name in self._read:
            holder = self._all.holder(name)
            if holder is None:
                raise RuntimeError(f"variable {name[1]!r} is read, and no value was stored in it before")
            if holder is self:
                continue
            value, (_, dtype, dims) = self._all.value(name), self._places[name]
            if value.dtype != dtype or (value.shape or (1,)) != dims:
                raise Outdated
            np.copyto(self.value(name), value.reshape(dims))

    def save(self):
        """After a run."""
        self._all.store(dict.fromkeys(self._places, self))
