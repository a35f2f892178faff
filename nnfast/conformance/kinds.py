"""The kinds of conformance tests [NN 16.5]: what each changes in model or request, and what must come back.

A kind is a `Kind`: which vectors it takes, and a function that runs one case through a face (canonical_face,
hal_face) and returns its parts.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..checks import counted
from ..errors import Error, OutputInsufficientSize
from ..model.types import VERSIONS, OperandType, OperationType
from ..ops.registry import lookup
from .compare import Comparison, compare_case
from .features import MISSED, deadline, fenced, memory_domain
from .steps import (
    FENCED,
    claims_all,
    execute,
    has_zero_sized,
    must_refuse,
    needs_known_outputs,
    prepare,
    runs,
    skip_general_failure,
)
from .validation import validation
from .verdict import FAILED, Fail, Part, describe, part_of


@dataclass(frozen=True, slots=True)
class Kind:
    """takes(vector) -> bool; run(face, case, vector) -> list of Part; since: HAL version of the kind.

    bursts: the kind also goes through bursts.
    """

    takes: object
    run: object
    since: str = "1.0"
    bursts: bool = False

    def is_of(self, hal):
        """True when the standard has this kind for a face."""
        return hal == "canonical" or VERSIONS.index(hal) >= VERSIONS.index(self.since)


# -- general ---------------------------------------------------------------------------------------------------------
def _general(face, case, vector):
    return [part_of("", _general_runs, face, case)]


def _general_runs(face, case):
    """Execution on pools in every way but fences, which are a kind of their own; then arrays through `run`."""
    prepared = prepare(face, case.model)
    result = Comparison()
    for label, run, measured in runs(face, prepared, bursts=True):
        if not label.startswith(FENCED):
            result.merge(execute(face, run, label, case, measured, shapes_required=False))
    if face.has_arrays:
        result.merge(_run_arrays(face, prepared, case))
    return result


def _run_arrays(face, prepared, case):
    outputs = [np.asarray(array) for array in face.run(prepared, list(case.inputs))]
    if len(outputs) != len(case.expected):
        raise Fail(f"run: {counted(len(outputs), 'output')}, must be {len(case.expected)}")
    for place, (array, right) in enumerate(zip(outputs, case.expected)):
        if (array.shape, array.dtype) != (right.shape, right.dtype):
            raise Fail(f"run: output {place} is {array.dtype} {list(array.shape)}, must be {right.dtype} "
                       f"{list(right.shape)}")
    comparison = compare_case(case, outputs)
    if comparison.reason:
        comparison.reason = f"run: {comparison.reason}"
    return comparison


# -- dynamic ---------------------------------------------------------------------------------------------------------
def with_unknown_outputs(model):
    """The model with every dimension of its main outputs unknown; ranks stay."""
    operands = list(model.main.operands)
    for index in model.main.outputs:
        operands[index] = replace(operands[index], dims=(0,) * len(operands[index].dims))
    return model.with_main(operands=tuple(operands))


def _dynamic(face, case, vector):
    dynamic = replace(case, model=with_unknown_outputs(case.model))
    parts = [part_of("unspecified", _unspecified, face, dynamic)]
    if case.expected[0].nbytes > 1:
        parts.append(part_of("insufficient", _insufficient, face, dynamic))
    return parts


def _unspecified(face, case):
    prepared = prepare(face, case.model)
    result = Comparison()
    for label, run, measured in runs(face, prepared, bursts=True):
        if needs_known_outputs(label):
            must_refuse(run, label, face.memory(case).request)
            continue
        try:
            result.merge(execute(face, run, label, case, measured, shapes_required=True))
        except Error as error:
            skip_general_failure(error)
            raise
    return result


def _insufficient(face, case):
    prepared = prepare(face, case.model)
    for name, run, _ in runs(face, prepared, bursts=True):
        label = f"{name}, output 0 one byte short"
        memory = face.memory(case, shorten=1)
        if needs_known_outputs(name):
            must_refuse(run, label, memory.request)
            continue
        try:
            run(memory.request)
        except OutputInsufficientSize as error:
            _check_insufficient(error.shapes, case, label)
        except Error as error:
            skip_general_failure(error)
            raise Fail(f"{label}: gave {describe(error)}, must be OUTPUT_INSUFFICIENT_SIZE") from None
        else:
            raise Fail(f"{label}: succeeded, must be OUTPUT_INSUFFICIENT_SIZE")
        if memory.damage():
            raise Fail(f"{label}: {memory.damage()}")
    return Comparison()


def _check_insufficient(shapes, case, label):
    """One shape per output, only output 0 insufficient, right rank, each dimension right or 0."""
    if len(shapes) != len(case.expected):
        raise Fail(f"{label}: {len(shapes)} output shapes for {counted(len(case.expected), 'output')}")
    for place, (shape, value) in enumerate(zip(shapes, case.expected)):
        if shape.is_sufficient != (place != 0):
            state = "sufficient" if shape.is_sufficient else "insufficient"
            raise Fail(f"{label}: output {place} is reported as {state}")
        known = len(shape.dims) == value.ndim and all(d in (0, n) for d, n in zip(shape.dims, value.shape))
        if not known:
            raise Fail(f"{label}: output {place} has dims {list(shape.dims)}, must be {list(value.shape)} or 0 where "
                       "unknown")


# -- failure ---------------------------------------------------------------------------------------------------------
def _failure(face, case, vector):
    # These folders run in CTS only, which accepts a failure at any point [NN 16.7].
    anywhere = vector.folder == "V1_3_cts_only"
    return [part_of("", _must_fail, face, case, anywhere)]


def _must_fail(face, case, anywhere):
    try:
        claimed = claims_all(face, case.model)
    except Error:
        if anywhere:
            return Comparison()
        raise
    try:
        prepared = face.prepare(case.model)
    except Error as error:
        if claimed and not anywhere:
            raise Fail(f"every operation is claimed as supported, but prepare gave {describe(error)}") from None
        return Comparison()
    ways = face.ways(prepared)
    run = ways.get("sync") or ways["execute"]
    try:
        run(face.memory(case).request)
    except OutputInsufficientSize as error:
        raise Fail(f"execution gave {describe(error)}: a failure of this kind must report no shapes") from None
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


def _coupling(face, case, vector):
    forms = {"original": case, "signed": signed_twin(case)}
    parts, prepared = [], {}
    for name, form in forms.items():
        prepared[name], refusal = _try_prepare(face, form.model)
        parts.append(part_of(name, _coupled_runs, face, prepared[name], form) if refusal is None else
                     Part(name, refusal[0], refusal[1]))
    ready = [name for name in forms if prepared[name] is not None]
    if len(ready) == 1:
        refused = next(part for part in parts if part.name != ready[0])
        refused.outcome, refused.reason = FAILED, f"refused, but the {ready[0]} model prepares: {refused.reason}"
    return parts


def _try_prepare(face, model):
    """(prepared model, None) or (None, (outcome, reason))."""
    found = []

    def attempt():
        found.append(prepare(face, model))
        return Comparison()

    part = part_of("", attempt)
    return (found[0], None) if found else (None, (part.outcome, part.reason))


def _coupled_runs(face, prepared, case):
    result = Comparison()
    for label, run, measured in runs(face, prepared, bursts=True):
        if needs_known_outputs(label) and has_zero_sized(case):
            must_refuse(run, label, face.memory(case).request)
        else:
            result.merge(execute(face, run, label, case, measured, shapes_required=False))
    return result


# -- loop_timeout ----------------------------------------------------------------------------------------------------
LOOP_SECONDS = 0.001
"""Time that a request of this kind gives each WHILE."""


def _loop_timeout(face, case, vector):
    return [part_of("", _must_run_out_of_time, face, case)]


def _must_run_out_of_time(face, case):
    prepared = prepare(face, case.model)
    for name, run, _ in runs(face, prepared):
        label = f"{name}, loop timeout of 1 ms"
        try:
            run(face.memory(case).request, loop_timeout=LOOP_SECONDS)
        except Error as error:
            skip_general_failure(error)
            if error.status not in MISSED:
                raise Fail(f"{label}: gave {describe(error)}, must be MISSED_DEADLINE_*") from None
        else:
            raise Fail(f"{label}: succeeded, must be MISSED_DEADLINE_*")
    return Comparison()


# -- which vectors ---------------------------------------------------------------------------------------------------
def _takes_plain(vector):
    return not vector.expect_failure


def _takes_dynamic(vector):
    return not vector.expect_failure and not vector.operations & {"RANK", "IF", "WHILE"}


def _takes_failure(vector):
    return vector.expect_failure


def _takes_coupling(vector):
    return not vector.expect_failure and len(vector.main_operations) == 1 and \
        vector.uses("TENSOR_QUANT8_ASYMM", _is_coupled)


def _is_coupled(name):
    """Whether the forms for unsigned and signed codes of an operation must agree; True for unknown names."""
    op = lookup(OperationType.__members__.get(name))
    return op is None or op.coupled


def _takes_loop_timeout(vector):
    return vector.expect_failure and vector.main_operations[0] == "WHILE"


def _takes_validation(vector):
    return "inputs_as_internal" not in vector.name and "all_tensors_as_inputs" not in vector.name


KINDS = {
    "general": Kind(_takes_plain, _general, bursts=True),
    "dynamic": Kind(_takes_dynamic, _dynamic, "1.2", bursts=True),
    "coupling": Kind(_takes_coupling, _coupling, "1.3", bursts=True),
    "failure": Kind(_takes_failure, _failure, "1.2"),
    "loop_timeout": Kind(_takes_loop_timeout, _loop_timeout, "1.3"),
    "memory_domain": Kind(_takes_plain, memory_domain, "1.3"),
    "fenced": Kind(_takes_plain, fenced, "1.3"),
    "deadline": Kind(_takes_plain, deadline, "1.3"),
    "validation": Kind(_takes_validation, validation, bursts=True),
}
"""The standard's kinds by name."""
