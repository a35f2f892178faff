"""Kinds of HAL 1.3: memory domains, fenced executions, priorities and deadlines [NN 16.5, 6.7, 8.4]."""

from .._native.threads import now_ns
from ..driver.memory import BLOB
from ..errors import Error, ErrorStatus
from .compare import Comparison
from .memory import DeviceMemory
from .steps import (
    FENCED,
    NO_BUFFERS,
    UNPREPARED,
    claims_all,
    execute,
    has_zero_sized,
    must_refuse,
    needs_known_outputs,
    prepare,
    runs,
)
from .verdict import Fail, Skip, describe, part_of

MISSED = (ErrorStatus.MISSED_DEADLINE_TRANSIENT, ErrorStatus.MISSED_DEADLINE_PERSISTENT)
"""What a deadline or a loop timeout ends with."""

LARGEST_NS = (1 << 63) - 1
SOON_NS = 5_000_000


# -- memory_domain ---------------------------------------------------------------------------------------------------
def memory_domain(face, case, vector):
    """Arguments in CPU-visible hardware buffers, then in buffers of the driver."""
    return [part_of("blob", _domain_runs, face, case, lambda prepared: face.memory(case, kind=BLOB)),
            part_of("device", _domain_runs, face, case, lambda prepared: _device_memory(face, prepared, case))]


def _device_memory(face, prepared, case):
    memory = DeviceMemory(face, prepared, case)
    if not memory.buffers:
        raise Skip(NO_BUFFERS)
    return memory


def _domain_runs(face, case, make_memory):
    prepared = prepare(face, case.model)
    result = Comparison()
    for label, run, measured in runs(face, prepared):
        if measured:
            continue
        memory = make_memory(prepared)
        if needs_known_outputs(label) and has_zero_sized(case):
            must_refuse(run, label, memory.request)
        else:
            result.merge(execute(face, run, label, case, measured, shapes_required=False, memory=memory))
    return result


# -- fenced ----------------------------------------------------------------------------------------------------------
def fenced(face, case, vector):
    """Fenced executions, each followed by one that waits for its fence."""
    return [part_of("", _fenced_runs, face, case)]


def _fenced_runs(face, case):
    prepared = prepare(face, case.model)
    result = Comparison()
    for label, run, measured in runs(face, prepared):
        if not label.startswith(FENCED):
            continue
        if has_zero_sized(case):
            must_refuse(run, label, face.memory(case).request)
        else:
            result.merge(execute(face, run, label, case, measured, shapes_required=False, again=True))
    return result


# -- deadline --------------------------------------------------------------------------------------------------------
def deadline(face, case, vector):
    """Preparations of every priority and with deadlines, executions with deadlines."""
    return [part_of("prepare", _prepare_in_time, face, case), part_of("execute", _execute_in_time, face, case)]


def _deadlines():
    """(name, nanoseconds of the monotonic clock, whether it may be missed)."""
    yield "now", now_ns(), True
    yield "in 5 ms", now_ns() + SOON_NS, True
    yield "the largest", LARGEST_NS, False


def _prepare_in_time(face, case):
    claimed = claims_all(face, case.model)
    for priority in face.priorities:
        try:
            face.prepare(case.model, priority=priority)
        except Error as error:
            if not claimed:
                raise Skip(f"{UNPREPARED}: {error}") from None
            raise Fail(f"prepare with priority {priority}: gave {describe(error)}") from None
    for name, deadline_ns, may_miss in _deadlines():
        try:
            face.prepare(case.model, deadline_ns=deadline_ns)
        except Error as error:
            if not may_miss or error.status not in MISSED:
                raise Fail(f"prepare with deadline {name}: gave {describe(error)}") from None
    return Comparison()


def _execute_in_time(face, case):
    prepared = prepare(face, case.model)
    result = Comparison()
    for label, run, measured in runs(face, prepared):
        if measured or label.startswith(FENCED):
            continue
        for name, deadline_ns, may_miss in _deadlines():
            where = f"{label}, deadline {name}"
            try:
                result.merge(execute(face, run, where, case, measured, shapes_required=False,
                                     deadline_ns=deadline_ns))
            except Error as error:
                if not may_miss or error.status not in MISSED:
                    raise Fail(f"{where}: gave {describe(error)}") from None
    return result
