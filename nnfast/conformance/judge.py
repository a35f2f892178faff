"""What is right of a random graph: bounds of single values, and operations judged one by one.

Integers and booleans of a driver must be those of the definitions, to the last bit; floats may differ by what the
order of a sum does. A graph carries such a difference on: a division by a small number enlarges it, and a comparison,
an index or a rounding makes a step of it, so that an output can be far off though every operation is right. Such a
graph is run again with all that its operations write as outputs, and each operation is judged by what it made of the
values that it really read. Where all are right, and the outputs are those of the first run, the graph is `unstable`,
and no failure.
"""

from dataclasses import replace
from math import prod, sqrt

import numpy as np

from ..errors import Error
from ..model.types import LifeTime, OperationType
from .parts import part
from .reference import evaluate
from .vectors import Case

SAME, WITHIN, UNSTABLE, DIFFERS = "same", "within", "unstable", "differs"
"""Verdicts."""

NUDGES, NUDGE, SLACK, STEP = 4, 2.0, 8.0, 1e-2
"""How well a definition is conditioned: its inputs are moved NUDGES times by NUDGE units in the last place; SLACK times
what the results move by is granted, but no more than STEP, of the value where that is above 1: floats only.
"""

LENGTH = 0.2
"""A sum of n products, added up one by one, wanders by 0.3 sqrt(n) units in the last place of what it is on the way: so
its inputs are moved by LENGTH sqrt(n) units where that is more. With SLACK that is five standard deviations.
"""

FILTERS = {OperationType.CONV_2D: 1, OperationType.GROUPED_CONV_2D: 1, OperationType.TRANSPOSE_CONV_2D: 1,
           OperationType.FULLY_CONNECTED: 1}
"""Operations whose sums can be long, and the input that has their weights, [outputs, ...]."""


def bound(dtype, relaxed=False):
    """(absolute, relative) error of one operation's results: half of what the standard allows floats, else 0."""
    if dtype.kind != "f":
        return 0.0, 0.0
    return (5 * 2.0**-11,) * 2 if dtype == np.float16 or relaxed else (5e-6, 5 * 2.0**-24)


def errors_of(wanted, found):
    """|found - wanted| as doubles, 0 where both are the same infinity or NaN."""
    wanted, found = np.asarray(wanted, np.float64), np.asarray(found, np.float64)
    with np.errstate(invalid="ignore"):
        errors = np.abs(found - wanted)
    errors[(wanted == found) | (np.isnan(wanted) & np.isnan(found))] = 0
    errors[np.isnan(errors)] = np.inf
    return errors


def mismatch(wanted, found, relaxed=False, more=0.0):
    """What is wrong with an array, or "". more: absolute error that is granted besides, per element."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"is {found.dtype} {list(found.shape)}, must be {wanted.dtype} {list(wanted.shape)}"
    if found.tobytes() == wanted.tobytes():
        return ""
    atol, rtol = bound(wanted.dtype, relaxed)
    errors, right = np.atleast_1d(errors_of(wanted, found)), np.abs(np.atleast_1d(np.asarray(wanted, np.float64)))
    limits = np.where(np.isfinite(right), atol + rtol * right, 0.0) + more
    bad = ~(errors <= limits)
    if not bad.any():
        return ""
    place = np.unravel_index(int(np.argmax(bad)), bad.shape)
    values = np.atleast_1d(found)[place], np.atleast_1d(wanted)[place]
    return (f"element {[int(i) for i in place]} is {values[0]}, must be {values[1]}"
            f"{f' within {limits[place]:.3g}' if limits[place] else ''}; {int(bad.sum())} of {bad.size} are wrong, the "
            f"worst by {errors.max():.3g}")


def judge(case, outputs, run):
    """(verdict, text) of the outputs of a case. run(case) -> outputs, by the same way; only called where floats differ.
    """
    if all(a.tobytes() == b.tobytes() and a.shape == b.shape for a, b in zip(outputs, case.expected, strict=True)):
        return SAME, ""
    relaxed = case.model.relaxed
    texts = [mismatch(wanted, found, relaxed) for wanted, found in zip(case.expected, outputs)]
    if not any(texts):
        return WITHIN, ""
    first = next(place for place, text in enumerate(texts) if text)
    text = f"output {first}: {texts[first]}"
    wrong = _first_wrong(case, outputs, run)
    if wrong is None:
        return UNSTABLE, text
    return DIFFERS, wrong or f"{text} (no operation alone is wrong)"


def _first_wrong(case, outputs, run):
    """The first operation that makes something wrong of what it reads, as text; "" where none does but the outputs are
    others than those of a run that shows all values; None where nothing is wrong.
    """
    try:
        shown = exposed(case)
        found = run(shown)
        given = dict(zip(shown.model.main.outputs, found, strict=True))
        values = evaluate(shown.model, shown.inputs, given)
    except Error:
        return ""
    main = shown.model.main
    for index, operation in enumerate(main.operations):
        for place, operand in enumerate(operation.outputs):
            if mismatch(values[operand], given[operand], shown.model.relaxed):
                text = mismatch(values[operand], given[operand], shown.model.relaxed,
                                _moved(shown, index, given)[place])
                if text:
                    return f"operation {index} {operation.type.name} output {place}: {text}"
    for operand, seen in zip(case.model.main.outputs, outputs):
        if mismatch(given[operand], seen, shown.model.relaxed):
            return ""
    return None


def exposed(case):
    """The case with everything that its operations write as outputs."""
    main, values = case.model.main, evaluate(case.model, case.inputs)
    operands = list(main.operands)
    for place in values:
        operands[place] = replace(operands[place], lifetime=LifeTime.SUBGRAPH_OUTPUT)
    return Case(case.name, case.model.with_main(operands=tuple(operands), outputs=tuple(values)), case.inputs,
                tuple(values.values()), (False,) * len(values))


def _moved(case, index, given):
    """By how much each output of an operation moves with the last places of what it reads, per element, with slack."""
    alone = part(case, [index], given)
    inputs, rng, units = alone.inputs, np.random.default_rng(index), max(NUDGE, LENGTH * sqrt(_products(case, index)))
    try:
        first = evaluate(alone.model, inputs)
        moved = {operand: np.zeros(array.shape) for operand, array in first.items()}
        for _ in range(NUDGES):
            nudged = [array if array is None or array.dtype.kind != "f" else _nudged(array, units, rng)
                      for array in inputs]
            for operand, array in evaluate(alone.model, nudged).items():
                moved[operand] = np.maximum(moved[operand], errors_of(first[operand], array))
    except (Error, ValueError):  # of other shapes, too, where the data give them
        return [0.0] * len(case.model.main.operations[index].outputs)
    return [np.minimum(SLACK * moved[operand], STEP * np.maximum(1.0, np.abs(np.nan_to_num(first[operand]))))
            if first[operand].dtype.kind == "f" else 0.0 for operand in alone.model.main.operations[0].outputs]


def _products(case, index):
    """Products that each result of an operation is the sum of, where that can be many; else 1."""
    main = case.model.main
    operation = main.operations[index]
    if operation.type not in FILTERS:
        return 1
    shape = main.operands[operation.inputs[FILTERS[operation.type]]].shape
    return prod(shape[1:]) if shape is not None and None not in shape else 1


def _nudged(array, units, rng):
    with np.errstate(over="ignore", invalid="ignore"):
        step = units * np.finfo(array.dtype).eps * rng.choice((-1, 1), array.shape)
        return np.asarray(array * (1 + step), array.dtype)
