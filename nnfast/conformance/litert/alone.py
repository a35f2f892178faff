"""One operator of a file by itself, on given values of its inputs."""

from dataclasses import replace

import numpy as np

from ...driver.device import Device
from ...litert.details import NUMPY_TYPES
from ...litert.graph import Graph
from ...litert.variables import Variables
from ...tflite.reader import ModelFile


class Part(ModelFile):
    """A ModelFile whose main subgraph has one operator only.

    path: of the file; operator: a FileOperator of its first subgraph; inputs: indexes of the tensors that come from
    outside.
    """

    def __init__(self, path, operator, inputs):
        super().__init__(path)
        self.signatures, self._operator, self._inputs = (), operator, inputs

    def graph(self, index):
        graph = super().graph(index)
        if index:
            return graph
        return replace(graph, operators=(self._operator,), inputs=self._inputs, outputs=self._operator.outputs)


def inputs_of(graph, operator):
    """Indexes of the tensors that an operator of a FileGraph takes from others; None where some are no plain values."""
    found = tuple(dict.fromkeys(index for index in operator.inputs if index >= 0 and graph.tensors[index].data is None))
    tensors = [graph.tensors[index] for index in found]
    plain = all(np.dtype(NUMPY_TYPES[t.type]).kind in "biufc" and not t.is_variable for t in tensors)
    return found if found and plain else None


def run_alone(path, operator, values):
    """{tensor index: array} of the outputs of a FileOperator. values: the same of its inputs, all of them.

    Raises RuntimeError, ValueError where it does not run by itself.
    """
    inputs = tuple(values)
    graph = Graph(path, 0, Device(num_threads=1), False, Part(path, operator, inputs), Variables())
    for index, value in values.items():
        graph.resize(index, value.shape, strict=False)
    graph.allocate()
    for index, value in values.items():
        graph.set(index, value)
    graph.invoke()
    return {index: graph.get(index) for index in operator.outputs if index >= 0}
