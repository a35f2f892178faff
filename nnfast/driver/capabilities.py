"""What a device says of its speed (hal.md 1.8)."""

from dataclasses import dataclass

from ..model.types import DTYPES, OperandType


@dataclass(frozen=True, slots=True)
class Performance:
    """Time and energy of a workload over those of the reference CPU; 1.0 = the same, lower is better."""

    time: float
    power: float


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Performance by operand type (ascending), of relaxed float32 on scalars and tensors, and of one IF and WHILE."""

    operands: dict
    relaxed_scalar: Performance
    relaxed_tensor: Performance
    branch: Performance
    loop: Performance


_NO_OPERANDS = (OperandType.SUBGRAPH, OperandType.OEM, OperandType.TENSOR_OEM_BYTE)
_AS_REFERENCE = Performance(1.0, 1.0)


def capabilities(device):
    """Capabilities of a device: the same on every call.

    nnfast is a CPU driver, and without a calibration on this machine it claims what a CPU is by definition: 1.0.
    """
    types = sorted(kind for kind in DTYPES if kind not in _NO_OPERANDS)
    return Capabilities(dict.fromkeys(types, _AS_REFERENCE), _AS_REFERENCE, _AS_REFERENCE, _AS_REFERENCE,
                        _AS_REFERENCE)
