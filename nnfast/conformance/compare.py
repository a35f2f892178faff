"""The standard's comparison of results [NN 16.3]: |actual - expected| <= atol + rtol * |expected| in double."""

from dataclasses import dataclass, field

import numpy as np

from ..errors import InvalidArgument
from ..model.types import OperandType

_T = OperandType
FLOAT32_TOLERANCE = (1e-5, 5 * 2.0**-23)
FLOAT16_TOLERANCE = (5 * 2.0**-10, 5 * 2.0**-10)
_QUANT8 = frozenset((_T.TENSOR_QUANT8_ASYMM, _T.TENSOR_QUANT8_ASYMM_SIGNED, _T.TENSOR_QUANT8_SYMM))
_INTEGERS = frozenset((_T.TENSOR_INT32, _T.INT32, _T.TENSOR_QUANT16_ASYMM, _T.TENSOR_QUANT16_SYMM))


@dataclass(slots=True)
class Comparison:
    """What came out of comparing: reason is "" when all passed, else one line about the first output that failed.

    errors: operand type name -> (largest |actual - expected|, largest share of the tolerance used). An error that is
    not a number counts as infinite; where equality is asked for, the share is 0 or infinite.
    """

    reason: str = ""
    errors: dict = field(default_factory=dict)

    def add(self, type_name, error, share):
        old = self.errors.get(type_name, (0.0, 0.0))
        self.errors[type_name] = max(old[0], error), max(old[1], share)

    def merge(self, other):
        """Take in another comparison; the first reason stays."""
        self.reason = self.reason or other.reason
        for name, (error, share) in other.errors.items():
            self.add(name, error, share)


def has_wide_float(model):
    """True when float32 results get the float16 tolerance: relaxed, or a TENSOR_FLOAT16 in any graph [NN 16.3]."""
    graphs = (model.main, *model.referenced)
    return model.relaxed or any(operand.type == _T.TENSOR_FLOAT16 for graph in graphs for operand in graph.operands)


def tolerance(type_, test_name, wide_float):
    """(atol, rtol) of an output type; raises InvalidArgument for a type that the standard does not compare."""
    if type_ == _T.TENSOR_FLOAT32:
        return FLOAT16_TOLERANCE if wide_float else FLOAT32_TOLERANCE
    if type_ == _T.TENSOR_FLOAT16:
        return FLOAT16_TOLERANCE
    if type_ in _QUANT8:
        return (3.0 if "mobilenet" in test_name else 1.0), 0.0
    if type_ in _INTEGERS:
        return 1.0, 0.0
    if type_ == _T.TENSOR_BOOL8:
        return 0.0, 0.0
    raise InvalidArgument(f"test {test_name}: outputs of type {_T(type_).name} cannot be compared")


def compare_case(case, outputs):
    """Compare one array per output, of the expected shape and dtype, with a case; returns a Comparison."""
    result = Comparison()
    wide = has_wide_float(case.model)
    if case.multinomial_tolerance > 0:
        result.reason = compare_multinomial(case.inputs[0], outputs[0], case.multinomial_tolerance)
        return result
    for place, (index, expected, actual) in enumerate(zip(case.model.main.outputs, case.expected, outputs)):
        if case.ignored[place]:
            continue
        type_ = case.model.main.operands[index].type
        atol, rtol = tolerance(type_, case.name, wide)
        text, error, share = compare_values(expected, actual, atol, rtol)
        result.add(_T(type_).name, error, share)
        if text and not result.reason:
            result.reason = f"output {place} {_T(type_).name}: {text}"
    return result


def compare_values(expected, actual, atol, rtol):
    """(what is wrong or "", largest error, largest share of the tolerance) of two arrays of one shape."""
    if actual.shape != expected.shape:
        return f"shape is {list(actual.shape)}, must be {list(expected.shape)}", np.inf, np.inf
    if not expected.size:
        return "", 0.0, 0.0
    wanted, got = expected.astype(np.float64), actual.astype(np.float64)
    with np.errstate(invalid="ignore"):
        errors = np.abs(got - wanted)
    # NaN is not <= anything, which is the rule; as an error it counts as infinite.
    errors = np.where(np.isnan(errors), np.inf, errors)
    limits = atol + rtol * np.abs(wanted)
    bad = ~(errors <= limits)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(errors == 0, 0.0, errors / limits)
    text = ""
    if bad.any():
        first = np.unravel_index(int(np.argmax(bad)), bad.shape)
        text = (f"element {[int(i) for i in first]} is {actual[first]}, must be {expected[first]} within "
                f"{limits[first]:.3g}; {int(bad.sum())} of {bad.size} elements are wrong, worst by {errors.max():.3g}")
    return text, float(errors.max()), float(shares.max())


def compare_multinomial(logits, samples, limit):
    """What is wrong, or "": the share of each class among the samples against its probability [NN 16.4].

    logits: [1, classes]; samples: [1, count] int32 class numbers.
    """
    logits, samples = logits.reshape(-1).astype(np.float64), samples.reshape(-1)
    if samples.size == 0 or samples.min() < 0 or samples.max() >= logits.size:
        return f"output 0: class numbers must be in [0, {logits.size})"
    weights = np.exp(logits - logits.max())
    shares = np.bincount(samples, minlength=logits.size) / samples.size
    errors = np.abs(shares - weights / weights.sum())
    worst = int(errors.argmax())
    if not errors[worst] <= limit:
        return f"output 0: class {worst} has share {shares[worst]:.4g}, off by {errors[worst]:.4g}, limit {limit:.4g}"
    return ""
