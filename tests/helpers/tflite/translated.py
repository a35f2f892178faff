"""What the translation tests share: load what was built, show it, look at its parts."""

import numpy as np
import pytest

from helpers.tflite.file_builder import Tensor, build
from nnfast.compiler.check import check_model, unsupported
from nnfast.compiler.resolve import resolve
from nnfast.errors import UnsupportedOperator
from nnfast.model.types import LifeTime, operation_name
from nnfast.tflite import load

PENDING = {"CAST"}
"""Operations that a translation may use before the device has them."""


def translate(tensors, operators, inputs, outputs, arithmetic="litert", **more):
    """Validated model of a file built from these parts."""
    model = load(build(tensors, operators, inputs, outputs, **more), arithmetic=arithmetic)
    check_model(model)
    model = resolve(model, {})
    refused = {operation_name(model.main.operations[k].type): v for k, v in unsupported(model).items()}
    assert set(refused) <= PENDING, refused
    return model


def show(model):
    """Operations as (name, inputs, outputs): scalars and made-up integer vectors by value, the rest by name."""
    graph = model.main

    def one(index):
        operand = graph.operands[index]
        if operand.lifetime == LifeTime.NO_VALUE:
            return None
        if operand.is_scalar:
            return operand.data.item()
        if operand.is_constant and not operand.name:
            return operand.data.tolist()
        return operand.name

    return [(operation_name(op.type), [one(k) for k in op.inputs], [one(k) for k in op.outputs])
            for op in graph.operations]


def named(model, name):
    """The only operand of that name."""
    found = [o for o in model.main.operands if o.name == name]
    assert len(found) == 1
    return found[0]


def f32(*shape):
    """Reproducible normal values."""
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def q8(name, shape, dtype="uint8", scale=0.5, zero_point=3, **more):
    """An 8-bit tensor."""
    return Tensor(name, shape, dtype, scale=scale, zero_point=zero_point, **more)


def refused(tensors, operators, inputs, outputs, text):
    """The UnsupportedOperator that loading raises; its reason holds `text`."""
    with pytest.raises(UnsupportedOperator) as caught:
        load(build(tensors, operators, inputs, outputs))
    assert text in caught.value.reason
    assert caught.value.operator == operators[caught.value.index].name
    return caught.value
