"""Where models run: in this process, through bursts, in a driver's process that is started anew when it has died, or
behind the C library."""

import os
import secrets
import tempfile

from ... import Device, load
from ...conformance.ndk import NdkDevice
from ...errors import Error
from ...service import spawn
from ..ways import POLLING_US


class Driver:
    """A device that is there again after its process has died; as a context manager it ends what it has started.

    via: one of bench.ways.MLTS_WAYS; local: an nnfast.Device with as many threads.
    """

    def __init__(self, via="local", threads=None):
        self.via, self._process, self._remote = via, None, None
        self.local = Device(num_threads=threads)
        self.num_threads = self.local.num_threads

    @property
    def device(self):
        """`local`, the RemoteDevice of a living process, or an NdkDevice, whose library starts a driver anew."""
        if self.via == "ndk":
            self._remote = self._remote or NdkDevice(self.num_threads)
            return self._remote
        if self.via != "service":
            return self.local
        if self._remote is None or not self._remote.is_available:
            self.close()
            path = os.path.join(tempfile.gettempdir(), f"nnfast-{secrets.token_hex(8)}.sock")
            self._process = spawn.start(path, "--threads", str(self.num_threads), "--exit-idle",
                                        str(spawn.IDLE_SECONDS))
            self._remote = spawn.reach(path, self._process)
        return self._remote

    def load(self, path):
        """The model of a file, with operations that the device has: the library has the standard's alone."""
        return load(path, arithmetic="nnapi" if self.via == "ndk" else "litert")

    def runner(self, model, input_shapes=None):
        """A Runner of a model, prepared now."""
        return Runner(self.device.prepare(model, input_shapes=input_shapes), bool(model.states), self.via == "burst")

    def close(self):
        """End the driver's process."""
        if self._remote is not None:
            self._remote.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        self._remote = self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def inputs_of(model):
    """Operands that a caller of a Model gives: its inputs without the states."""
    states = {state.input for state in model.states}
    return [model.main.operands[index] for place, index in enumerate(model.main.inputs) if place not in states]


class Runner:
    """Runs a prepared model step by step. has_state: steps follow each other from `reset` on; burst: through rings.

    run(arrays) -> list of arrays; reset(): return to the initial state; inputs, outputs: TensorInfo of each.
    """

    def __init__(self, prepared, has_state=False, burst=False):
        self.prepared, self.inputs, self.outputs = prepared, prepared.inputs, prepared.outputs
        self._stream = prepared.stream() if has_state else None
        self._burst = prepared.burst(spin_us=POLLING_US) if burst else None
        self.run = (self._stream or self._burst or prepared).run

    def reset(self):
        if self._stream is not None:
            self._stream.reset()

    def close(self):
        """Give back what it holds; a driver that died holds nothing."""
        for part in (self._burst, self.prepared):
            try:
                if part is not None:
                    part.close()
            except Error:
                continue
