"""A client that knows what its models must give, and calls a driver in every way."""

from dataclasses import dataclass

import numpy as np

from .. import Device, Memory, Model, Request, RequestArgument, load
from ..conformance.ndk import check_standard
from ..errors import InvalidArgument

RESULT_SECONDS = 600.0
"""Until a launched execution must have ended."""

WAYS, STATE_WAYS = ("run", "submit", "execute", "burst"), ("run", "submit")
"""Ways to execute: of all models, and of those with states, which would be inputs of requests."""


def draw_inputs(infos, rng):
    """Random arrays for inputs of known shape: floats of a normal distribution, all codes of quantized types, 0 or 1
    otherwise, which are indexes of anything.
    """
    result = []
    for info in infos:
        if info.shape is None or None in info.shape:
            raise InvalidArgument(f"input {info.name}: its shape is not fixed by the model")
        kind = np.dtype(info.dtype)
        if kind.kind == "f":
            result.append(rng.standard_normal(info.shape).astype(kind))
        elif info.scale:
            codes = np.iinfo(kind)
            result.append(rng.integers(codes.min, codes.max, info.shape, kind, endpoint=True))
        else:
            result.append(rng.integers(0, 2, info.shape).astype(kind))
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A model file with inputs, and the outputs that they must give."""

    path: str
    model: Model
    inputs: list
    outputs: list

    @classmethod
    def of(cls, path, rng, arithmetic="litert"):
        """The model of a file, computed in this process. rng: numpy.random.Generator of the inputs; arithmetic: as of
        nnfast.load. Raises nnfast errors, InvalidArgument for inputs without a known shape.
        """
        model = load(path, arithmetic=arithmetic)
        if arithmetic == "nnapi":
            check_standard(model)
        with Device(num_threads=1).prepare(model) as prepared:
            inputs = draw_inputs(prepared.inputs, rng)
            return cls(path, model, inputs, prepared.run(inputs))

    @property
    def ways(self):
        """Ways to execute it."""
        return STATE_WAYS if self.model.states else WAYS

    def is_right(self, outputs):
        """Whether outputs are what they must be, to the last bit of every number."""
        return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(outputs, self.outputs, strict=True))


class Caller:
    """A Subject prepared on some device, called in every way. A burst and a request are kept from call to call."""

    def __init__(self, subject, prepared):
        self.subject, self._prepared = subject, prepared
        self._request = self._burst = None

    def call(self, way):
        """Outputs by a way of the subject's."""
        return {"run": self._run, "submit": self._submit, "execute": self._execute, "burst": self._by_burst}[way]()

    def close(self):
        """Give back what it holds."""
        if self._burst is not None:
            self._burst.close()
        self._prepared.close()

    def _run(self):
        return self._prepared.run(self.subject.inputs)

    def _submit(self):
        return self._prepared.submit(self.subject.inputs).result(RESULT_SECONDS)

    def _execute(self):
        """On shared memory, which stays the same from call to call."""
        inputs, outputs = self.subject.inputs, self.subject.outputs
        if self._request is None:
            pools = tuple(Memory.create(max(1, sum(array.nbytes for array in arrays))) for arrays in (inputs, outputs))
            pools[0].array()[:] = np.concatenate([array.reshape(-1).view(np.uint8) for array in inputs])
            self._request = Request(_places(0, inputs), _places(1, outputs), pools)
        written = self._request.pools[1].array()
        written[:] = 0
        self._prepared.execute(self._request)
        return _split(written, outputs)

    def _by_burst(self):
        if self._burst is None:
            self._burst = self._prepared.burst()
        return self._burst.run(self.subject.inputs)


def _places(pool, arrays):
    offset, result = 0, []
    for array in arrays:
        result.append(RequestArgument(pool, offset, array.nbytes))
        offset += array.nbytes
    return tuple(result)


def _split(raw, like):
    offset, result = 0, []
    for array in like:
        result.append(raw[offset:offset + array.nbytes].view(array.dtype).reshape(array.shape).copy())
        offset += array.nbytes
    return result
