"""Other engines beside nnfast, where they are installed."""

import os
import time
from importlib import import_module

import numpy as np

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


def find_onnxruntime():
    """The module of ONNX Runtime, or None where it is not installed."""
    try:
        return import_module("onnxruntime")
    except ImportError:
        return None


def onnx_file(path):
    """The conversion of a model file: NAME.onnx beside it or in the folder onnx there. None if there is none."""
    folder, name = os.path.split(os.path.splitext(path)[0] + ".onnx")
    found = [where for where in (os.path.join(folder, name), os.path.join(folder, "onnx", name))
             if os.path.isfile(where)]
    return found[0] if found else None


class OnnxRuntime:
    """A conversion of a model in ONNX Runtime on the processor. run(arrays) -> list of arrays, numpy in and out.

    Inputs beyond those of the model hold its states and get zeros. Raises RuntimeError if it does not take the file or
    the shapes.
    """

    def __init__(self, path, threads, shapes):
        module = find_onnxruntime()
        self.name = f"ONNX Runtime {module.__version__}"
        options = module.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 4
        try:
            self._session = module.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # of ONNX Runtime, which has its own kinds
            raise RuntimeError(str(error)) from None
        entries = self._session.get_inputs()
        self._names = [entry.name for entry in entries[:len(shapes)]]
        self._states = {entry.name: np.zeros([size if isinstance(size, int) else 1 for size in entry.shape], np.float32)
                        for entry in entries[len(shapes):]}
        for entry, shape in zip(entries, shapes):
            if len(entry.shape) != len(shape) or any(isinstance(size, int) and size != found
                                                     for size, found in zip(entry.shape, shape)):
                raise RuntimeError(f"input {entry.name} has the shape {entry.shape} in {path}")

    def run(self, arrays):
        try:
            return self._session.run(None, {**dict(zip(self._names, arrays)), **self._states})
        except Exception as error:  # of ONNX Runtime
            raise RuntimeError(str(error)) from None


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
