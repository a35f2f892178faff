"""The kinds of conformance tests (vts/README.md 4): what each changes in model or request, and what must come back.

A kind is a `Kind`: which vectors it takes, and a function that runs one case on a device and returns its parts.
"""

import re
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import Error, ErrorStatus, OutputInsufficientSize
from ..model.types import OperandType
from .compare import Comparison, compare_case
from .memory import Memory
from .mutations import ARGUMENTS, Mutation, model_mutations

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

ALL_KINDS = (
    "general", "dynamic", "coupling", "failure", "loop_timeout", "memory_domain", "fenced", "deadline", "validation",
)
"""Names of the standard's kinds; KINDS holds those that are built."""

UNPREPARED = "not every operation is supported, so a failed preparation skips the test (vts/README.md 2)"
NO_DYNAMIC = "GENERAL_FAILURE where outputs are not plainly specified skips the test (vts/README.md 4)"
SKIP_RULES = (UNPREPARED, NO_DYNAMIC)
"""What the standard lets a driver refuse; the reason of a skip starts with one of these."""


class Skip(Exception):
    """The standard lets a driver refuse this; the message cites the rule."""


class Fail(Exception):
    """The driver broke a rule; the message says which."""


@dataclass(slots=True)
class Part:
    """One form of a kind ("" when it has one form only): outcome, reason and what comparing gave.

    tally: rule -> [tried, refused, accepted, crashed], of the kind that counts wrong models.
    """

    name: str
    outcome: str = PASSED
    reason: str = ""
    comparison: Comparison | None = None
    tally: dict = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kind:
    """takes(vector) -> bool; run(device, case, vector) -> list of Part."""

    takes: object
    run: object


def _part(name, function, *args):
    """Run one form; what it raises becomes its outcome."""
    part = Part(name)
    try:
        part.comparison = function(*args)
        if part.comparison.reason:
            raise Fail(part.comparison.reason)
    except Skip as skip:
        part.outcome, part.reason = SKIPPED, str(skip)
    except Fail as fail:
        part.outcome, part.reason = FAILED, str(fail)
    except Error as error:
        part.outcome, part.reason = FAILED, _describe(error)
    except Exception as error:  # a driver bug; the other tests go on
        part.outcome, part.reason = FAILED, f"the driver raised {_describe(error)}"
    return part


def _describe(error):
    """An exception in one line: its status where it has one, else its class."""
    name = error.status.name if isinstance(error, Error) else type(error).__name__
    return f"{name}: {' '.join(str(error).split())}"


# -- steps that the kinds share --------------------------------------------------------------------------------------
def _claims_all(device, model):
    """Ask which operations are supported; True when all are."""
    supported = device.supported_operations(model)
    if not supported or len(supported) != len(model.main.operations):
        raise Fail(f"supported_operations gave {len(supported)} flags, must be one for each of the "
                   f"{len(model.main.operations)} operations")
    return all(supported)


def _prepare(device, model):
    """Prepared model, or Skip / Fail by what the driver had claimed."""
    claimed = _claims_all(device, model)
    try:
        return device.prepare(model)
    except Error as error:
        if claimed:
            raise Fail(f"every operation is claimed as supported, but prepare gave {_describe(error)}") from None
        raise Skip(f"{UNPREPARED}: {error}") from None


def _check_timing(timing, measured, label):
    times = timing.on_device_us, timing.in_driver_us
    if not measured:
        if times != (None, None):
            raise Fail(f"{label}: times {times} are reported, must be None when they are not asked for")
    elif None in times:
        raise Fail(f"{label}: times are {times}, both were asked for")
    elif not 0 <= times[0] <= times[1]:
        raise Fail(f"{label}: time on device {times[0]} us must not exceed time in driver {times[1]} us")


def _check_shapes(shapes, case, label, required):
    """Shapes after a success: none (if not required) or one per output, sufficient and exact."""
    if not shapes and not required:
        return
    if len(shapes) != len(case.expected):
        raise Fail(f"{label}: {len(shapes)} output shapes for {len(case.expected)} outputs")
    for place, (shape, value) in enumerate(zip(shapes, case.expected)):
        if not shape.is_sufficient:
            raise Fail(f"{label}: output {place} is reported as insufficient, its buffer has the right size")
        if tuple(shape.dims) != value.shape:
            raise Fail(f"{label}: output {place} has dims {list(shape.dims)}, must be {list(value.shape)}")


def _execute(prepared, case, measured, shapes_required):
    """One execution on memory pools, fully checked; returns the Comparison."""
    label = f"execute, timing {'YES' if measured else 'NO'}"
    memory = Memory(case)
    result = prepared.execute(memory.request, measure_timing=measured)
    _check_timing(result.timing, measured, label)
    _check_shapes(result.shapes, case, label, shapes_required)
    if memory.damage():
        raise Fail(f"{label}: {memory.damage()}")
    comparison = compare_case(case, memory.outputs())
    if comparison.reason:
        comparison.reason = f"{label}: {comparison.reason}"
    return comparison


# -- general ---------------------------------------------------------------------------------------------------------
def _general(device, case, vector):
    return [_part("", _general_runs, device, case)]


def _general_runs(device, case):
    """Execution on pools without and with timing, then arrays through `run`."""
    prepared = _prepare(device, case.model)
    result = Comparison()
    for measured in (False, True):
        result.merge(_execute(prepared, case, measured, shapes_required=False))
    outputs = [np.asarray(array) for array in prepared.run(list(case.inputs))]
    if len(outputs) != len(case.expected):
        raise Fail(f"run: {len(outputs)} outputs, must be {len(case.expected)}")
    for place, (array, right) in enumerate(zip(outputs, case.expected)):
        if (array.shape, array.dtype) != (right.shape, right.dtype):
            raise Fail(f"run: output {place} is {array.dtype} {list(array.shape)}, must be {right.dtype} "
                       f"{list(right.shape)}")
    comparison = compare_case(case, outputs)
    if comparison.reason:
        comparison.reason = f"run: {comparison.reason}"
    result.merge(comparison)
    return result


# -- dynamic ---------------------------------------------------------------------------------------------------------
def with_unknown_outputs(model):
    """The model with every dimension of its main outputs unknown; ranks stay."""
    operands = list(model.main.operands)
    for index in model.main.outputs:
        operands[index] = replace(operands[index], dims=(0,) * len(operands[index].dims))
    return model.with_main(operands=tuple(operands))


def _dynamic(device, case, vector):
    dynamic = replace(case, model=with_unknown_outputs(case.model))
    parts = [_part("unspecified", _unspecified, device, dynamic)]
    if case.expected[0].nbytes > 1:
        parts.append(_part("insufficient", _insufficient, device, dynamic))
    return parts


def _unspecified(device, case):
    prepared = _prepare(device, case.model)
    result = Comparison()
    for measured in (False, True):
        try:
            result.merge(_execute(prepared, case, measured, shapes_required=True))
        except Error as error:
            _skip_general_failure(error)
            raise
    return result


def _skip_general_failure(error):
    if error.status == ErrorStatus.GENERAL_FAILURE:
        raise Skip(f"{NO_DYNAMIC}: {error}") from None


def _insufficient(device, case):
    prepared = _prepare(device, case.model)
    for measured in (False, True):
        label = f"execute with output 0 one byte short, timing {'YES' if measured else 'NO'}"
        memory = Memory(case, shorten=1)
        try:
            prepared.execute(memory.request, measure_timing=measured)
        except OutputInsufficientSize as error:
            _check_insufficient(error.shapes, case, label)
        except Error as error:
            _skip_general_failure(error)
            raise Fail(f"{label}: gave {_describe(error)}, must be OUTPUT_INSUFFICIENT_SIZE") from None
        else:
            raise Fail(f"{label}: succeeded, must be OUTPUT_INSUFFICIENT_SIZE")
        if memory.damage():
            raise Fail(f"{label}: {memory.damage()}")
    return Comparison()


def _check_insufficient(shapes, case, label):
    """One shape per output, only output 0 insufficient, right rank, each dimension right or 0."""
    if len(shapes) != len(case.expected):
        raise Fail(f"{label}: {len(shapes)} output shapes for {len(case.expected)} outputs")
    for place, (shape, value) in enumerate(zip(shapes, case.expected)):
        if shape.is_sufficient != (place != 0):
            state = "sufficient" if shape.is_sufficient else "insufficient"
            raise Fail(f"{label}: output {place} is reported as {state}")
        known = len(shape.dims) == value.ndim and all(d in (0, n) for d, n in zip(shape.dims, value.shape))
        if not known:
            raise Fail(f"{label}: output {place} has dims {list(shape.dims)}, must be {list(value.shape)} or 0 where "
                       "unknown")


# -- failure ---------------------------------------------------------------------------------------------------------
def _failure(device, case, vector):
    # These folders run in CTS only, which accepts a failure at any point (vts/README.md 4.4).
    anywhere = vector.folder == "V1_3_cts_only"
    return [_part("", _must_fail, device, case, anywhere)]


def _must_fail(device, case, anywhere):
    try:
        claimed = _claims_all(device, case.model)
    except Error:
        if anywhere:
            return Comparison()
        raise
    try:
        prepared = device.prepare(case.model)
    except Error as error:
        if claimed and not anywhere:
            raise Fail(f"every operation is claimed as supported, but prepare gave {_describe(error)}") from None
        return Comparison()
    try:
        prepared.execute(Memory(case).request)
    except OutputInsufficientSize as error:
        raise Fail(f"execution gave {_describe(error)}: a failure of this kind must report no shapes") from None
    except Error:
        return Comparison()
    raise Fail("the execution succeeded, it must fail")


# -- coupling --------------------------------------------------------------------------------------------------------
def signed_twin(case):
    """The case with TENSOR_QUANT8_ASYMM_SIGNED for TENSOR_QUANT8_ASYMM everywhere: zero points and bytes less 128."""
    def graph(old):
        return replace(old, operands=tuple(map(operand, old.operands)))

    def operand(old):
        if old.type != OperandType.TENSOR_QUANT8_ASYMM:
            return old
        return replace(old, type=OperandType.TENSOR_QUANT8_ASYMM_SIGNED, zero_point=old.zero_point - 128,
                       data=signed(old.data))

    def signed(array):
        return None if array is None else (array ^ np.uint8(128)).view(np.int8)

    def values(places, arrays):
        return tuple(signed(array) if main.operands[place].type == OperandType.TENSOR_QUANT8_ASYMM else array
                     for place, array in zip(places, arrays))

    main = case.model.main
    model = replace(case.model, main=graph(main), referenced=tuple(map(graph, case.model.referenced)))
    return replace(case, model=model, inputs=values(main.inputs, case.inputs),
                   expected=values(main.outputs, case.expected))


def _coupling(device, case, vector):
    forms = {"original": case, "signed": signed_twin(case)}
    parts, prepared = [], {}
    for name, form in forms.items():
        prepared[name], refusal = _try_prepare(device, form.model)
        parts.append(_part(name, _coupled_runs, prepared[name], form) if refusal is None else
                     Part(name, refusal[0], refusal[1]))
    ready = [name for name in forms if prepared[name] is not None]
    if len(ready) == 1:
        refused = next(part for part in parts if part.name != ready[0])
        refused.outcome, refused.reason = FAILED, f"refused, but the {ready[0]} model prepares: {refused.reason}"
    return parts


def _try_prepare(device, model):
    """(prepared model, None) or (None, (outcome, reason))."""
    found = []

    def attempt():
        found.append(_prepare(device, model))
        return Comparison()

    part = _part("", attempt)
    return (found[0], None) if found else (None, (part.outcome, part.reason))


def _coupled_runs(prepared, case):
    result = Comparison()
    for measured in (False, True):
        result.merge(_execute(prepared, case, measured, shapes_required=False))
    return result


# -- loop_timeout ----------------------------------------------------------------------------------------------------
LOOP_SECONDS = 0.001
"""Time that a request of this kind gives each WHILE."""

_MISSED = (ErrorStatus.MISSED_DEADLINE_TRANSIENT, ErrorStatus.MISSED_DEADLINE_PERSISTENT)


def _loop_timeout(device, case, vector):
    return [_part("", _must_run_out_of_time, device, case)]


def _must_run_out_of_time(device, case):
    prepared = _prepare(device, case.model)
    for measured in (False, True):
        label = f"execute with a loop timeout of 1 ms, timing {'YES' if measured else 'NO'}"
        try:
            prepared.execute(Memory(case).request, measure_timing=measured, loop_timeout=LOOP_SECONDS)
        except Error as error:
            _skip_general_failure(error)
            if error.status not in _MISSED:
                raise Fail(f"{label}: gave {_describe(error)}, must be MISSED_DEADLINE_*") from None
        else:
            raise Fail(f"{label}: succeeded, must be MISSED_DEADLINE_*")
    return Comparison()


# -- validation ------------------------------------------------------------------------------------------------------
_MESSAGE = re.compile(r"(main|referenced\[\d+\]|prepare)[^\n]*?: [^\n]+")
"""One line: the path of what is wrong, then the rule."""

SHOWN_MUTATIONS = 3
"""Mutations that a failure's reason spells out."""


def _validation(device, case, vector):
    """Every mutation of the model (hal.md 11.9) is refused by query and preparation.

    Wrong requests and burst packets, the rest of the standard's kind (vts/README.md 4.3), are not built yet.
    """
    part, problems = Part(""), []
    for mutation in model_mutations(case.model):
        calls = (("supported_operations", device.supported_operations, {}), ("prepare", device.prepare, {}))
        _count_refusal(part.tally, problems, mutation, calls)
    for rule, arguments in ARGUMENTS:
        mutation = Mutation(rule, str(arguments), case.model)
        _count_refusal(part.tally, problems, mutation, (("prepare", device.prepare, arguments),))
    if problems:
        more = f"; and {len(problems) - SHOWN_MUTATIONS} more" if len(problems) > SHOWN_MUTATIONS else ""
        part.outcome, part.reason = FAILED, "; ".join(problems[:SHOWN_MUTATIONS]) + more
    return [part]


def _count_refusal(tally, problems, mutation, calls):
    """Try a mutation; count it under its rule and describe it when it was not refused as it must be."""
    row = tally.setdefault(mutation.rule, [0, 0, 0, 0])
    row[0] += 1
    for name, call, arguments in calls:
        try:
            call(mutation.model, **arguments)
        except Error as error:
            if error.status == ErrorStatus.INVALID_ARGUMENT and _MESSAGE.fullmatch(str(error)):
                continue
            place, what = 3, f"gave {_describe(error)}, must be INVALID_ARGUMENT with one line of path and rule"
        except Exception as error:  # a driver bug; it must not hide the other mutations
            place, what = 3, f"raised {_describe(error)}"
        else:
            place, what = 2, "accepted it"
        row[place] += 1
        problems.append(f"{mutation.rule}, {mutation.where}: {name} {what}")
        return
    row[1] += 1


# -- which vectors ---------------------------------------------------------------------------------------------------
UNCOUPLED = frozenset(("HASHTABLE_LOOKUP", "LSH_PROJECTION", "PAD_V2", "CAST", "QUANTIZED_16BIT_LSTM"))
"""Operations whose signed and unsigned forms need not agree."""


def _takes_plain(vector):
    return not vector.expect_failure


def _takes_dynamic(vector):
    return not vector.expect_failure and not vector.operations & {"RANK", "IF", "WHILE"}


def _takes_failure(vector):
    return vector.expect_failure


def _takes_coupling(vector):
    return not vector.expect_failure and len(vector.main_operations) == 1 and \
        vector.uses("TENSOR_QUANT8_ASYMM", apart=UNCOUPLED)


def _takes_loop_timeout(vector):
    return vector.expect_failure and vector.main_operations[0] == "WHILE"


def _takes_validation(vector):
    return "inputs_as_internal" not in vector.name and "all_tensors_as_inputs" not in vector.name


KINDS = {
    "general": Kind(_takes_plain, _general),
    "dynamic": Kind(_takes_dynamic, _dynamic),
    "coupling": Kind(_takes_coupling, _coupling),
    "failure": Kind(_takes_failure, _failure),
    "loop_timeout": Kind(_takes_loop_timeout, _loop_timeout),
    "validation": Kind(_takes_validation, _validation),
}
"""The kinds that are built, by name."""
