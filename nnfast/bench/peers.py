"""Other engines beside nnfast, where they are installed."""

import time

from ..conformance.litert.process import find, package_version


class LiteRT:
    """A model in LiteRT's interpreter with its default delegate (XNNPACK).

    run(arrays) -> list of arrays, numpy in and out; prepare_ms: load and preparation.
    """

    def __init__(self, path, threads, shapes=()):
        module, package = find()
        self.name = f"LiteRT {package_version(package)}"
        start = time.perf_counter()
        self._interpreter = module.Interpreter(path, num_threads=threads)
        for row, shape in zip(self._interpreter.get_input_details(), shapes):
            if tuple(row["shape"]) != shape:
                self._interpreter.resize_tensor_input(row["index"], shape)
        self._interpreter.allocate_tensors()
        self.prepare_ms = 1e3 * (time.perf_counter() - start)
        self._inputs = [row["index"] for row in self._interpreter.get_input_details()]
        self._outputs = [row["index"] for row in self._interpreter.get_output_details()]

    def run(self, arrays):
        for index, array in zip(self._inputs, arrays):
            self._interpreter.set_tensor(index, array)
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(index) for index in self._outputs]
