"""The library as a device, in front of a driver's process."""

import ctypes
import os
import secrets
import tempfile
from pathlib import Path

import numpy as np

from ... import errors
from ...driver.arguments import resized
from ...model.types import LifeTime
from ...service.spawn import IDLE_SECONDS, reach, start
from .buffer import NdkBuffer
from .library import (
    ERRORS,
    PREFERENCES,
    PRIORITIES,
    Handle,
    ScalesStruct,
    check_standard,
    indexes,
    left,
    memory_of,
    type_of,
)
from .prepared import NdkPrepared

LIBRARY = Path(__file__).resolve().parents[2] / "lib" / "libneuralnetworks.so"
ALIGNMENT = 64


class NdkDevice:
    """A device with the methods that the canonical face, benchmarks and stress tests call. Models must be those of
    `nnfast.load(..., arithmetic="nnapi")`: the library has the standard's operations.

    socket: of a running driver; None: one of this device's own is started, with num_threads. The library looks for the
    driver once in a process: there the first device chooses for all.
    """

    def __init__(self, num_threads=None, socket=None):
        if not LIBRARY.exists():
            raise errors.InvalidArgument(f"{LIBRARY}: is not there; build it with python setup.py build_ext --inplace")
        self._process = None
        if socket is None:
            socket = os.path.join(tempfile.gettempdir(), f"nnfast-{secrets.token_hex(8)}.sock")
            threads = [] if num_threads is None else ["--threads", str(num_threads)]
            self._process = start(socket, "--exit-idle", str(IDLE_SECONDS), *threads)
            reach(socket, self._process).close()
        os.putenv("NNFAST_SOCKET", socket)  # for the library, which looks at the first call that needs a driver
        self._library = ctypes.CDLL(str(LIBRARY))
        self._one = ctypes.c_void_p()
        self.call("_getDevice", 0, ctypes.byref(self._one))
        self.call("Device_wait", self._one)

    def close(self):
        """End the driver that it has started."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.wait()

    def function(self, name):
        """The C function of a name without its prefix."""
        return getattr(self._library, f"ANeuralNetworks{name}")

    def call(self, name, *arguments):
        """Call a function; raises the Error that its result code stands for."""
        self.check(name, self.function(name)(*arguments))

    def check(self, name, code):
        """Raise the Error that a result code stands for."""
        if code:
            raise ERRORS.get(code, errors.GeneralFailure)(f"{name}: result code {code}")

    # -- models ------------------------------------------------------------------------------------------------------
    def _model(self, model, place=None):
        """The finished C model."""
        return self._graph(model, model.main, {}, place)

    def _graph(self, model, graph, known, place):
        inner = [operand.subgraph for operand in graph.operands if operand.lifetime == LifeTime.SUBGRAPH]
        for number in inner:
            if number not in known:
                known[number] = self._graph(model, model.referenced[number], known, place)
        pool, offsets = (None, {}) if place is None else self._pool(graph, place)
        made = Handle(self, "Model", "create", keep=[pool, *(known[number] for number in inner)])
        for index, operand in enumerate(graph.operands):
            self._operand(made, index, operand)
            if index in offsets:
                self.call("Model_setOperandValueFromMemory", made.pointer, index, pool.pointer,
                          ctypes.c_size_t(offsets[index]), ctypes.c_size_t(operand.data.nbytes))
            else:
                self._value(made, index, operand, known)
        for operation in graph.operations:
            self.call("Model_addOperation", made.pointer, operation.type, len(operation.inputs),
                      indexes(operation.inputs), len(operation.outputs), indexes(operation.outputs))
        self.call("Model_identifyInputsAndOutputs", made.pointer, len(graph.inputs), indexes(graph.inputs),
                  len(graph.outputs), indexes(graph.outputs))
        self.call("Model_relaxComputationFloat32toFloat16", made.pointer, bool(model.relaxed))
        self.call("Model_finish", made.pointer)
        return made

    def _operand(self, made, index, operand):
        kind = type_of(operand, operand.dims)
        self.call("Model_addOperand", made.pointer, ctypes.byref(kind))
        if operand.channel_quant is not None:
            scales = operand.channel_quant.scales
            quant = ScalesStruct(operand.channel_quant.dim, len(scales), (ctypes.c_float * len(scales))(*scales))
            self.call("Model_setOperandSymmPerChannelQuantParams", made.pointer, index, ctypes.byref(quant))

    def _pool(self, graph, place):
        """(C memory with the constants of a graph, {operand: offset}); (None, {}) without any."""
        offsets, parts, size = {}, [], 0
        for index, operand in enumerate(graph.operands):
            if operand.is_constant and operand.data.nbytes:
                raw = np.ascontiguousarray(operand.data).reshape(-1).view(np.uint8)
                offsets[index] = size
                parts += [raw, np.zeros(-raw.size % ALIGNMENT, np.uint8)]
                size += raw.size + parts[-1].size
        return (memory_of(self, place(np.concatenate(parts))), offsets) if parts else (None, {})

    def _value(self, made, index, operand, known):
        if operand.is_constant and operand.data.nbytes:
            data = np.ascontiguousarray(operand.data)
            self.call("Model_setOperandValue", made.pointer, index, ctypes.c_void_p(data.ctypes.data),
                      ctypes.c_size_t(data.nbytes))
        elif operand.is_constant or operand.lifetime == LifeTime.NO_VALUE:
            self.call("Model_setOperandValue", made.pointer, index, None, ctypes.c_size_t(0))
        elif operand.lifetime == LifeTime.SUBGRAPH:
            self.call("Model_setOperandValueFromModel", made.pointer, index, known[operand.subgraph].pointer)

    def supported_operations(self, model):
        """One flag per operation; raises an Error for a wrong model."""
        flags, made = (ctypes.c_bool * len(model.main.operations))(), self._model(model)
        self.call("Model_getSupportedOperationsForDevices", made.pointer, ctypes.byref(self._one), 1, flags)
        return list(flags)

    def prepare(self, model, preference="fast_single_answer", priority="medium", deadline=None, input_shapes=None,
                cache=None, token=None, place=None):
        """As Device.prepare, for one device. cache: a folder, with a token of 32 bytes; place: function that puts the
        bytes of a graph's constants into a Memory, None: they are given by address.
        """
        model = resized(model, input_shapes)
        check_standard(model)
        made = self._model(model, place)
        compilation = Handle(self, "Compilation", "createForDevices", made.pointer, ctypes.byref(self._one), 1,
                              keep=made)
        self.call("Compilation_setPreference", compilation.pointer, PREFERENCES[preference])
        self.call("Compilation_setPriority", compilation.pointer, PRIORITIES[priority])
        if deadline is not None:
            self.call("Compilation_setTimeout", compilation.pointer, left(deadline))
        if cache is not None:
            self.call("Compilation_setCaching", compilation.pointer, os.fsencode(cache), bytes(token))
        self.call("Compilation_finish", compilation.pointer)
        return NdkPrepared(self, compilation, model)

    def allocate(self, input_roles=(), output_roles=()):
        """As Device.allocate. Raises GeneralFailure for shapes that are not known."""
        desc = Handle(self, "MemoryDesc", "create")
        for kind, roles in (("Input", input_roles), ("Output", output_roles)):
            for role in roles:
                self.call(f"MemoryDesc_add{kind}Role", desc.pointer, role.prepared.compilation.pointer, role.index,
                          ctypes.c_float(role.frequency))
        self.call("MemoryDesc_finish", desc.pointer)
        roles = [*input_roles, *output_roles]
        return NdkBuffer(self, Handle(self, "Memory", "createFromDesc", desc.pointer, keep=roles))
