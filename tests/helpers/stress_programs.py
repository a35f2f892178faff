"""Programs that processes of nnfast.stress run for tests: called with a Report and keyword arguments."""

import ctypes
import os
import signal
import threading
from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np

import nnfast
from nnfast.errors import GeneralFailure
from nnfast.stress import graphs
from nnfast.stress.outcome import Failure


def add(report, x, y):
    report.begin()
    return {"sum": x + y}


def count_to_three(report):
    report.begin()
    for number in (1, 2, 3):
        report.progress(str(number))


def crash(*_):
    """SIGSEGV."""
    ctypes.memset(0, 1, 1)


def succeed_and_crash(report):
    """SIGSEGV once the answer is on its way."""
    report.begin()
    _crash_at_end()
    return {}


def fail_and_crash(report):
    report.begin()
    _crash_at_end()
    raise Failure("Failure first")


def _crash_at_end():
    """Crash as soon as the main thread is done."""
    def wait():
        threading.main_thread().join()
        crash()

    threading.Thread(target=wait).start()


def crash_at_once(report):
    """Before it has said anything."""
    crash()


def exit_silently(report):
    report.begin()
    os._exit(0)


def close_everything_and_exit(report):
    report.begin()
    os.closerange(3, 1000)
    os._exit(3)


def work_for_ever(report):
    report.begin()
    threading.Event().wait()


def kill_itself(report):
    report.begin()
    os.kill(os.getpid(), signal.SIGKILL)


def hold(report, path):
    """Keep a named pipe open for ever, after a byte."""
    with open(path, "wb", buffering=0) as line:
        line.write(b"x")
        report.begin()
        threading.Event().wait()


# -- ways to compile, as nnfast.stress.compiling has them --------------------------------------------------------------
def compile_and_crash(device, path, chance, arithmetic):
    crash()


def compile_and_raise(device, path, chance, arithmetic):
    raise Failure("refused on purpose")


class Wrong:
    """A prepared model whose outputs are zeros, by every way."""

    def __init__(self, prepared):
        self._outputs = [np.zeros_like(array) for array in prepared.run([np.zeros(info.shape, info.dtype)
                                                                         for info in prepared.inputs])]

    def run(self, inputs):
        return self._outputs

    def submit(self, inputs):
        future = Future()
        future.set_result(self._outputs)
        return future

    def execute(self, request):
        pass

    def burst(self):
        return self

    def close(self):
        pass


def compile_wrongly(device, path, chance, arithmetic):
    return Wrong(device.prepare(nnfast.load(path)))


def kill_the_driver(device, path, chance, arithmetic):
    """The driver's process; a device of this one has no pid."""
    if hasattr(device, "pid"):
        os.kill(device.pid, signal.SIGKILL)
    return device.prepare(nnfast.load(path))


class OtherShapes:
    """A device whose models give their outputs another shape."""

    def __init__(self, device):
        self._device = device
        self.supported_operations, self.close = device.supported_operations, device.close

    def prepare(self, model):
        prepared = self._device.prepare(model)
        run = prepared.run
        prepared.run = lambda inputs: [array[None] for array in run(inputs)]
        return prepared


class CompilesNothing(OtherShapes):
    def prepare(self, model):
        raise GeneralFailure("on purpose")


def graphs_of_other_shapes(report, **arguments):
    _run_graphs_on(OtherShapes, report, arguments)


def graphs_that_do_not_compile(report, **arguments):
    _run_graphs_on(CompilesNothing, report, arguments)


def _run_graphs_on(kind, report, arguments):
    device = kind(nnfast.Device())
    graphs.work_on_graphs(report, **{**arguments, "way": SimpleNamespace(open=lambda: device)})


def end_early(report, **arguments):
    report.begin()


def crash_early(report, **arguments):
    report.begin()
    crash()
