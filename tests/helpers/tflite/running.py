"""Runs a file of one operator through nnfast: what its translation computes, not only what it looks like."""

from dataclasses import dataclass

import numpy as np

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast.compiler.check import check_model, unsupported
from nnfast.compiler.resolve import resolve
from nnfast.model.types import operation_name
from nnfast.tflite import load


@dataclass
class Const:
    """An input that the file holds."""

    array: np.ndarray


@dataclass
class State:
    """An input that is a variable of the file."""

    shape: tuple
    dtype: str = "float32"


@dataclass
class One:
    """One operator: inputs (arrays, Const, State, None = omitted), outputs as (shape, dtype), quantizations by name.

    Tensors are called i0, i1 ... and o0, o1 ...; quants: {name: (scale, zero point)}, "*" for all others of 8 bits;
    dims: {name: dimension along which it has scales}, else 0.
    """

    kind: str
    inputs: list
    outputs: list
    options: str | None = None
    fields: dict | None = None
    quants: dict | None = None
    custom: bytes | None = None
    dims: dict | None = None

    def tensors(self):
        """Tensors of the file."""
        quants, tensors = self.quants or {}, []
        for k, value in enumerate(self.inputs):
            name = f"i{k}"
            if isinstance(value, State):
                tensors.append(Tensor(name, value.shape, value.dtype, variable=True))
            elif value is not None:
                array = value.array if isinstance(value, Const) else value
                tensors.append(Tensor(name, array.shape, str(array.dtype), array if isinstance(value, Const) else None))
        tensors += [Tensor(f"o{k}", tuple(shape), str(np.dtype(dtype))) for k, (shape, dtype) in
                    enumerate(self.outputs)]
        for t in tensors:
            if t.name in quants or t.dtype in ("uint8", "int8") and "*" in quants:
                t.scale, t.zero_point = quants.get(t.name) or quants["*"]
            t.dim = (self.dims or {}).get(t.name, t.dim)
        return tensors

    def parts(self):
        """Arguments of `build`."""
        names = [None if value is None else f"i{k}" for k, value in enumerate(self.inputs)]
        results = [f"o{k}" for k in range(len(self.outputs))]
        op = Op(self.kind, names, results, self.options, self.fields or {}, self.custom)
        return self.tensors(), [op], [f"i{k}" for k, v in enumerate(self.inputs) if isinstance(v, np.ndarray)], results

    def file(self):
        """Bytes of the file."""
        return build(*self.parts())

    def model(self):
        """Checked model."""
        model = load(self.file())
        check_model(model)
        assert unsupported(resolve(model, {})) == {}
        return model

    def run(self):
        """Arrays of the outputs."""
        prepared = nnfast.Device().prepare(self.model())
        arrays = [value.view(np.uint8) if value.dtype == bool else value for value in self.inputs
                  if isinstance(value, np.ndarray)]
        results = prepared.run([a.reshape(a.shape or (1,)) for a in arrays])
        return results[:len(self.outputs)]

    def stream(self, sequence):
        """Outputs of a file with one input, for each of the arrays; states are carried on."""
        stream = nnfast.Device().prepare(self.model()).stream()
        return [stream.run([array])[0] for array in sequence]

    def codes(self):
        """Names of the operations."""
        return [operation_name(op.type) for op in resolve(self.model(), {}).main.operations]
