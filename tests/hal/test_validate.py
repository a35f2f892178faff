"""validateModel and its like [NN 11]: the rules of every version without a device."""

import logging

import pytest

from helpers.hal_clients import Pools, add_model, raw_add
from nnfast import Memory
from nnfast.hal import types as hidl
from nnfast.hal import validate
from nnfast.hal.convert import convert_to
from nnfast.hal.types import DataLocation, MemoryPool


@pytest.mark.parametrize("hal", hidl.HALS)
def test_models_of_every_version(hal, caplog):
    model = convert_to(raw_add(), hal)
    assert validate.validateModel(model)
    graph = model.main if hal == "1.3" else model
    graph.operands[0].numberOfConsumers = 7
    with caplog.at_level(logging.INFO, "nnfast"):
        assert not validate.validateModel(model)
    text = "main.operand[0]: numberOfConsumers is 7, the operations read it 2 times"
    assert caplog.messages == [f"validateModel: {text}"] and validate.reason(validate.validateModel, model) == text


def test_what_is_no_model():
    assert validate.reason(validate.validateModel, None) == "model: is NoneType, must be a Model of HAL 1.0 to 1.3"


@pytest.mark.parametrize("hal", ["1.2", "1.3"])
def test_requests(hal):
    model, pools = add_model(), Pools(hal=hal)
    assert validate.validateRequest(pools.request, model) and validate.validateRequest(pools.request, model, False)
    pools.request.outputs = []
    assert not validate.validateRequest(pools.request, model)
    assert not validate.validateRequest(None, model)


def test_unspecified_outputs():
    model, pools = add_model(declared=(0, 3)), Pools()
    assert validate.validateRequest(pools.request, model)
    assert validate.reason(validate.validateRequest, pools.request, model, False) == \
        "request output 0: dimensions are not fully known, which this call needs"


def test_tokens_are_taken_on_trust():
    pools = Pools()
    pools.request.pools = [MemoryPool(token=3), MemoryPool(token=4)]
    assert not validate.validateRequest(pools.request, add_model())  # neither offset nor length
    for argument in (pools.request.inputs[0], pools.request.outputs[0]):
        argument.location = DataLocation(argument.location.poolIndex, 0, 0)
    assert validate.validateRequest(pools.request, add_model())
    pools.request.pools[0].token = 0
    assert not validate.validateRequest(pools.request, add_model())


def test_enumerations():
    for check in (validate.validateExecutionPreference, validate.validatePriority):
        assert [value for value in range(-1, 5) if check(value)] == [0, 1, 2]
        assert not check(None) and not check(1.0)
    assert [value for value in range(-1, 3) if validate.validateMeasureTiming(value)] == [0, 1]


def test_pools():
    blob, plain = Memory.create(4, "hardware_buffer_blob"), Memory.create(4)
    assert [hal for hal in hidl.HALS if validate.validatePool(blob, hal)] == ["1.2", "1.3"]
    assert [hal for hal in hidl.HALS if validate.validatePool(plain, hal)] == list(hidl.HALS)
    assert validate.validatePool(MemoryPool(token=5)) and validate.validatePool(MemoryPool(plain))
    assert not validate.validatePool(MemoryPool(token=5), "1.2") and not validate.validatePool(MemoryPool())
    assert not validate.validatePool(hidl.Memory("ashmem", None, 4))
