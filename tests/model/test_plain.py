"""What passes for right at a glance passes every rule."""

from itertools import product

import numpy as np
import pytest

from nnfast.errors import InvalidArgument
from nnfast.model.plain import is_plain
from nnfast.model.types import DTYPES, ChannelQuant, LifeTime, Model, Operand, OperandType, Operation, Subgraph
from nnfast.model.validate import validate_model
from nnfast.model.withheld import Withheld

TINY, HUGE = 1e-46, 3.5e38
DIMS = ((), (2, 3), (0, 3), (2, -1), (1 << 16, 1 << 16), (1 << 33,), [2, 3], (2.0,), (True, 3), (np.int64(2), 3))
SCALES = (0.0, 0.5, -0.5, TINY, HUGE, float("nan"), float("inf"), 1, "1", None, np.float32(0.5))
POINTS = (0, 1, -1, 127, 128, 255, 256, -128, -129, 65535, 65536, 0.0, True, None)


def refused(operand):
    """Whether a model with this operand breaks a rule of operands."""
    model = Model(Subgraph((operand,), (Operation(0, (), ()),), (), ()))
    try:
        validate_model(model)
    except InvalidArgument as error:
        return str(error).startswith("main.operand[0]") and "no operation writes it" not in str(error) \
            and "is not in main" not in str(error)
    return False


@pytest.fixture
def rule_by_rule(monkeypatch):
    monkeypatch.setattr("nnfast.model.validate.is_plain", lambda operand: False)


def agree(operand):
    assert not (is_plain(operand) and refused(operand)), operand
    return is_plain(operand)


def test_shapes_and_quantization(rule_by_rule):
    found = 0
    for kind, dims in product((*OperandType, 0, 99, -1, 1 << 20, True, 3.0, np.int32(3), None), DIMS):
        for scale, point in (*((s, 0) for s in SCALES), *((0.0, p) for p in POINTS), *((0.5, p) for p in POINTS)):
            found += agree(Operand(kind, dims, scale, point))
    assert found > 100


def test_lifetimes_and_values(rule_by_rule):
    found = 0
    quants = [ChannelQuant(dim, scales) for dim, scales in product(
        (0, 1, 2, -1, True, 0.0), ((1.0, 1.0), *(Withheld(np.dtype(np.float64), (n,)) for n in (0, 2, 3))))]
    odd = ({}, {"name": 5}, {"parameters": b""}, {"subgraph": 0}, *({"channel_quant": quant} for quant in quants))
    for kind, lifetime, dims in product(OperandType, (*LifeTime, 7, -1, True, 1.0, None), ((), (2, 3), (0, 3))):
        dtype = DTYPES.get(kind, np.dtype(np.uint8))
        zeros, turned = np.zeros(dims, dtype), np.zeros((3, 2), dtype)
        values = (None, 5, zeros, np.zeros(dims, np.int64), turned, turned.T, Withheld(dtype, dims),
                  zeros.view(np.recarray), zeros.astype(dtype.newbyteorder()))
        for data, scale, more in product(values, (0.0, 0.5), odd):
            found += agree(Operand(kind, dims, scale, 0, lifetime, data=data, **more))
    assert found > 100
