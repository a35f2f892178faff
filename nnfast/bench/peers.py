"""Other engines beside nnfast, where they are installed."""

import time
from importlib import import_module

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


def find_openvino():
    """The module of OpenVINO, or None where it is not installed."""
    try:
        return import_module("openvino")
    except ImportError:
        return None


class OpenVINO:
    """A model in OpenVINO, compiled for throughput in exact float32; it chooses how many requests run at once.

    run_many(arrays, count): numpy in, and the outputs of each request copied out; requests: at once.
    """

    def __init__(self, path, threads, shapes=()):
        module = find_openvino()
        self.name = f"OpenVINO {module.__version__.partition('-')[0]}"
        core = module.Core()
        model = core.read_model(path)
        model.reshape(dict(enumerate(map(list, shapes))))
        compiled = core.compile_model(model, "CPU", {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_NUM_THREADS": threads,
                                                     "INFERENCE_PRECISION_HINT": "f32"})
        self._queue = module.AsyncInferQueue(compiled)
        self._queue.set_callback(lambda request, _: [tensor.data.copy() for tensor in request.output_tensors])
        self.requests = len(self._queue)

    def run_many(self, arrays, count):
        inputs = dict(enumerate(arrays))
        for _ in range(count):
            self._queue.start_async(inputs, share_inputs=True)
        self._queue.wait_all()
