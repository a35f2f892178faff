"""Whatever a client hands in is answered by a status: no exception, no crash, and the next good call works."""

import copy
import random
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from helpers.hal_clients import Callback, Pools, add_model, prepare, raw_add
from nnfast.errors import ErrorStatus as S
from nnfast.hal import types as hidl

ROUNDS = 1500
JUNK = (None, -1, 0, 1, 2, 3, 7, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 64, -(1 << 70), 0.5, float("nan"), float("inf"),
        True, "", "x", b"", b"\0" * 9, [], [[]], [None], [0, 0], (1,), {}, object(), np.zeros(3), np.int64(1),
        np.array(2), np.float32(1), hidl.Operand(), hidl.Memory(), hidl.Handle((0,)), hidl.DataLocation(0, 0, 4),
        hidl.SymmPerChannelQuantParams([1.0], 0), lambda: 0)


def places(record, found=None):
    """(holder, key) of everything inside a record."""
    found = [] if found is None else found
    if is_dataclass(record):
        for field in fields(record):
            if field.name != "owner":
                found.append((record, field.name))
                places(getattr(record, field.name), found)
    elif isinstance(record, list):
        for index, item in enumerate(record):
            found.append((record, index))
            places(item, found)
    return found


def spoil(chance, record):
    """The record with one to three junk values somewhere inside."""
    record = copy.deepcopy(record)
    for _ in range(chance.randint(1, 3)):
        holder, key = chance.choice(places(record))
        value = copy.deepcopy(chance.choice(JUNK))
        if isinstance(holder, list):
            holder[key] = value
        else:
            setattr(holder, key, value)
    return record


def status_of(answer):
    status = answer[0] if isinstance(answer, tuple) else answer
    assert status in list(S)
    return status


@pytest.mark.parametrize("seed", [1, 2])
def test_models(device, seed):
    chance, refused = random.Random(seed), 0
    good = [raw_add(), add_model(), raw_add(dims=())]
    for _ in range(ROUNDS):
        model = spoil(chance, chance.choice(good))
        asked = status_of(device.getSupportedOperations_1_3(model))
        callback = Callback()
        launched = device.prepareModel_1_3(model, 1, 1, None, [], [], bytes(32), callback)
        status, prepared = callback.wait()
        assert (status == S.NONE) == (prepared is not None)
        assert launched in (S.NONE, S.INVALID_ARGUMENT) and (launched == asked)
        assert launched == S.NONE or status == launched
        refused += launched != S.NONE
    assert refused > ROUNDS / 2
    assert device.getSupportedOperations_1_3(raw_add()) == (S.NONE, [True])


@pytest.mark.parametrize("seed", [1, 2])
def test_requests(device, seed):
    chance, refused = random.Random(seed), 0
    prepared = prepare(device)
    pools = Pools()
    # The memory itself is no record: a spoiled request refers to the same one.
    pools.request.pools = [hidl.MemoryPool(hidl.Memory("ashmem", hidl.Handle([m.fileno()], []), 24))
                           for m in pools.memories]
    for _ in range(ROUNDS):
        request = spoil(chance, pools.request)
        status = status_of(prepared.executeSynchronously_1_3(request, 1, None, None))
        assert status in (S.NONE, S.INVALID_ARGUMENT, S.GENERAL_FAILURE, S.OUTPUT_INSUFFICIENT_SIZE)
        refused += status != S.NONE
        callback = Callback()
        assert status_of(prepared.execute_1_3(request, 0, None, None, callback)) in (S.NONE, status)
        assert callback.wait() == (status,)
        status_of(prepared.executeFenced(request, [], 0, None, None, None))
    assert refused > ROUNDS / 2
    assert prepared.executeSynchronously_1_3(pools.request, 0, None, None)[0] == S.NONE


def test_arguments(device):
    chance, prepared = random.Random(3), prepare(device)
    request = Pools().request
    _, buffer, _ = device.allocate(hidl.BufferDesc([]), [prepared], [hidl.BufferRole(0, 0, 1.0)], [])
    calls = (
        (device.getSupportedOperations, 1), (device.getSupportedOperations_1_2, 1), (device.allocate, 4),
        (device.prepareModel, 2), (device.prepareModel_1_1, 3), (device.prepareModel_1_2, 6),
        (device.prepareModel_1_3, 8), (device.prepareModelFromCache, 4), (device.prepareModelFromCache_1_3, 5),
        (prepared.execute, 2), (prepared.execute_1_2, 3), (prepared.execute_1_3, 5),
        (prepared.executeSynchronously, 2), (prepared.executeSynchronously_1_3, 4), (prepared.executeFenced, 6),
        (prepared.configureExecutionBurst, 3), (buffer.copyTo, 1), (buffer.copyFrom, 2),
    )
    for _ in range(4000):
        call, count = chance.choice(calls)
        arguments = [chance.choice((*JUNK, request, raw_add())) for _ in range(count)]
        assert status_of(call(*arguments)) != S.NONE or call in (prepared.executeSynchronously_1_3,)
    assert prepared.executeSynchronously_1_3(request, 0, None, None)[0] == S.NONE
