"""Programs of one process with several workers."""

import threading

from .. import Device
from ..errors import Error
from .outcome import Failure
from .workers import FOREVER, chance_of, end_of, open_device, start_workers, subjects_of


def work_together(report, name, paths, seed, socket, work, threads, seconds):
    """`threads` workers on one device for so long; FOREVER: until somebody kills the process. Returns counts."""
    subjects = [subject for subject in subjects_of(paths, seed) if compiles(work.compile, subject.path)]
    if not subjects:
        raise Failure(f"none of the models can be compiled {work.compile.__name__}")
    device, stop = open_device(socket), threading.Event()
    report.begin()
    workers = start_workers(device, subjects, work, threads, stop, seed, name)
    stop.wait(None if seconds == FOREVER else seconds)
    stop.set()
    compiled, executed, error = end_of(workers)
    if error is not None:
        raise Failure(error)
    device.close()
    return {"compiled": compiled, "executed": executed}


def compiles(compile, path):
    """Whether a model can be compiled in that way at all."""
    try:
        compile(Device(num_threads=1), path, chance_of(path))
    except Error:
        return False
    return True
