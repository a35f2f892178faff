"""A process that runs conformance tests for the runner: tasks come in and results go out through one connection.

Messages to the worker: (path, [(place of the vector in the file, kind), ...]), or None to end. From it, in order:
("start", place, kind), ("result", outcome, reason, errors, parts, tally), and ("idle", marks of a trace) when the task
is done; ("error", message) when the file or the device is unusable.
"""

from contextlib import nullcontext
from importlib import import_module
from multiprocessing.connection import Connection

from .. import trace
from ..compiler.check import check_model
from ..errors import Error
from ..hal.types import OPERAND_TYPES
from ..model.types import VERSIONS
from .canonical_face import CanonicalFace
from .kinds import KINDS
from .vectors import FOLDER_VERSIONS, read
from .verdict import FAILED, PASSED, SKIPPED


def make_device(spec, threads):
    """Device from "module:callable", called with num_threads."""
    module, _, name = spec.partition(":")
    return getattr(import_module(module), name)(num_threads=threads)


def make_face(device, hal, bursts_only=False):
    """The face through which the kinds see a device."""
    if hal == "canonical":
        return CanonicalFace(device, bursts_only)
    from .hal_face import HalFace

    return HalFace(device, hal, bursts_only)


def too_new(hal, vector, model):
    """Why a model of a newer folder needs more than a face has, or "".

    The vectors' min_hal goes by operation codes; a form or a type of operand may be younger. The standard runs the
    older folders on every driver, so that their models are never excused.
    """
    if hal == "canonical" or FOLDER_VERSIONS.get(vector.folder, vector.version) in VERSIONS[:VERSIONS.index(hal) + 1]:
        return ""
    try:
        version = check_model(model)
    except Error:
        return ""  # a model that is to fail
    if VERSIONS.index(version) <= VERSIONS.index(hal) and not has_newer_operand(model, hal):
        return ""
    return f"uses forms or types that are newer than {hal}"


def has_newer_operand(model, hal):
    """True when a HAL version does not know an operand type of the model, or its operands of unknown rank."""
    known = OPERAND_TYPES[hal]
    return any(operand.type not in known.__members__.values() for operand in model.main.operands) or \
        (hal < "1.2" and any(operand.shape is None for operand in model.main.operands))


def run_test(face, vector, kind):
    """(outcome, reason, errors, parts, tally) of one vector and kind; InvalidArgument when it is malformed."""
    case = vector.case()
    reason = too_new(face.hal, vector, case.model)
    if reason:
        return "not_applicable", reason, {}, {}, {}
    parts = KINDS[kind].run(face, case, vector)
    errors = {}
    for part in parts:
        if part.comparison is None:
            continue
        for name, (error, share) in part.comparison.errors.items():
            old = errors.get(name, (0.0, 0.0))
            errors[name] = max(old[0], error), max(old[1], share)
    outcomes = [part.outcome for part in parts]
    outcome = next(o for o in (FAILED, PASSED, SKIPPED) if o in outcomes)
    reasons = [f"{part.name}: {part.reason}" if part.name else part.reason for part in parts if part.reason]
    forms = {part.name: part.outcome for part in parts if part.name}
    tally = {rule: counts for part in parts for rule, counts in part.tally.items()}
    return outcome, "; ".join(reasons), errors, forms, tally


def serve(connection, spec, threads, hal, bursts_only=False, recorder=None):
    """Answer tasks until the other end says None or goes away. recorder: of a trace, whose marks go along."""
    face, loaded = None, (None, None)
    while (task := connection.recv()) is not None:
        path, entries = task
        try:
            face = face or make_face(make_device(spec, threads), hal, bursts_only)
            if loaded[0] != path:
                loaded = path, read(path)
            for place, kind in entries:
                connection.send(("start", place, kind))
                with trace.span("LA", "PO", f"{loaded[1][place].name} {kind}"):
                    result = run_test(face, loaded[1][place], kind)
                connection.send(("result", *result))
        except Error as error:
            connection.send(("error", str(error)))
            return
        connection.send(("idle", recorder.take() if recorder is not None else ()))


def main(handle, spec, threads, hal, bursts_only, traced):
    """Entry point of the process; handle: number of the inherited socket. traced: send the marks of what ran."""
    try:
        with Connection(handle) as connection, trace.record() if traced else nullcontext() as recorder:
            serve(connection, spec, threads, hal, bursts_only, recorder)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the runner is gone
