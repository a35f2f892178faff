"""Programs of one process with several workers."""

import threading

from .. import Device
from ..errors import Error
from .outcome import Failure
from .workers import FOREVER, chance_of, end_of, start_workers, subjects_of


def work_together(report, name, paths, seed, way, work, threads, seconds):
    """`threads` workers on one device for so long; FOREVER: until somebody kills the process. Returns counts."""
    subjects = [subject for subject in subjects_of(paths, seed, way.arithmetic)
                if compiles(work.compile, subject.path, way.arithmetic)]
    if not subjects:
        raise Failure(f"none of the models can be compiled {work.compile.__name__}")
    device, stop = way.open(), threading.Event()
    report.begin()
    workers = start_workers(device, way, subjects, work, threads, stop, seed, name)
    stop.wait(None if seconds == FOREVER else seconds)
    stop.set()
    compiled, executed, error = end_of(workers)
    if error is not None:
        raise Failure(error)
    device.close()
    return {"compiled": compiled, "executed": executed}


def compiles(compile, path, arithmetic):
    """Whether a model can be compiled in that way at all."""
    try:
        compile(Device(num_threads=1), path, chance_of(path), arithmetic)
    except Error:
        return False
    return True
