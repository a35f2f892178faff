"""VTS BasicTests [NN 11.13], capabilities [NN 1.8], and what is not there yet."""

import re

import pytest

from helpers.hal_clients import FLOAT, Callback, L, T, prepare
from nnfast.errors import ErrorStatus as S
from nnfast.hal import types as hidl
from nnfast.hal import v1_2
from nnfast.hal.convert import convert_to
from nnfast.hal.types import DataLocation, Operand, Operation

VERSIONS = ("1.0", "1.1", "1.2", "1.3")


def methods(face, name):
    """The method in all versions that a face has, as (version, bound method)."""
    for hal in VERSIONS[:VERSIONS.index(face.hal) + 1]:
        yield hal, getattr(face, name if hal == "1.0" else f"{name}_{hal.replace('.', '_')}")


def test_11_13_status(face):
    assert face.getStatus() == hidl.DeviceStatus.AVAILABLE


def test_11_13_capabilities(face):
    for hal, method in methods(face, "getCapabilities"):
        status, capabilities = method()
        assert status == S.NONE and (status, capabilities) == method()
        infos = [getattr(capabilities, name) for name in type(capabilities).__dataclass_fields__]
        if hal in ("1.2", "1.3"):
            rows = capabilities.operandPerformance
            assert [row.type for row in rows] == sorted({row.type for row in rows})
            assert {row.type for row in rows} == set(range(14 if hal == "1.2" else 15))
            infos = [info for info in infos if info is not rows] + [row.info for row in rows]
        assert all(info.execTime > 0 and info.powerUsage > 0 for info in infos)


def cycle():
    """Three additions of which the first two feed each other."""
    def tensor(lifetime, consumers):
        return Operand(T[FLOAT], [1], consumers, lifetime=lifetime)

    operands = [tensor(L.SUBGRAPH_INPUT, 1), tensor(L.SUBGRAPH_INPUT, 1),
                Operand(T.INT32, [], 3, lifetime=L.CONSTANT_COPY, location=DataLocation(0, 0, 4)),
                tensor(L.TEMPORARY_VARIABLE, 1), tensor(L.TEMPORARY_VARIABLE, 2), tensor(L.SUBGRAPH_OUTPUT, 0)]
    operations = [Operation(0, [0, 4, 2], [3]), Operation(0, [1, 3, 2], [4]), Operation(0, [4, 0, 2], [5])]
    operands[0].numberOfConsumers = 2
    return hidl.Model1_3(hidl.Subgraph(operands, operations, [0, 1], [5]), [], bytes(4))


def test_11_13_cycle(face):
    for hal, method in methods(face, "getSupportedOperations"):
        assert method(convert_to(cycle(), hal)) == (S.INVALID_ARGUMENT, [])
    callback = Callback()
    assert face.prepareModel(convert_to(cycle(), "1.0"), callback) != S.NONE
    status, prepared = callback.wait()
    assert status != S.NONE and prepared is None
    assert "reads operand 4 before it is written" in face.last_error()


def test_11_13_version_type_extensions_cache(canonical, device):
    for face in (v1_2.Device(canonical), device):
        status, text = face.getVersionString()
        assert status == S.NONE
        assert re.fullmatch(r"nnfast \d+\.\d+\.\d+ [0-9a-f]{12} \w+ ([0-9a-f]{12}|uncalibrated)", text)
        assert face.getType() == (S.NONE, hidl.DeviceType.CPU)
        assert face.getSupportedExtensions() == (S.NONE, [])
        status, model_files, data_files = face.getNumberOfCacheFilesNeeded()
        assert status == S.NONE and 0 <= model_files <= 32 and 0 <= data_files <= 32


def methods_of(made):
    """Names of the methods of HIDL."""
    return {name for name in dir(made) if not name.startswith("_") and callable(getattr(made, name))} - {
        "last_error", "prepared_model"}


def test_3_2_methods_by_version(face):
    since = {"getCapabilities": "1.0", "prepareModel": "1.0", "getSupportedOperations": "1.0", "getStatus": "1.0",
             "getCapabilities_1_1": "1.1", "prepareModel_1_1": "1.1", "getSupportedOperations_1_1": "1.1",
             "getCapabilities_1_2": "1.2", "prepareModel_1_2": "1.2", "getSupportedOperations_1_2": "1.2",
             "prepareModelFromCache": "1.2", "getVersionString": "1.2", "getType": "1.2",
             "getSupportedExtensions": "1.2", "getNumberOfCacheFilesNeeded": "1.2",
             "getCapabilities_1_3": "1.3", "prepareModel_1_3": "1.3", "getSupportedOperations_1_3": "1.3",
             "prepareModelFromCache_1_3": "1.3", "allocate": "1.3"}
    assert methods_of(face) == {name for name, hal in since.items() if hal <= face.hal}
    since = {"execute": "1.0", "execute_1_2": "1.2", "executeSynchronously": "1.2", "configureExecutionBurst": "1.2",
             "execute_1_3": "1.3", "executeSynchronously_1_3": "1.3", "executeFenced": "1.3"}
    assert methods_of(prepare(face)) == {name for name, hal in since.items() if hal <= face.hal}


def test_3_13_what_is_not_there_fails_in_words(device):
    callback = Callback()
    assert device.prepareModelFromCache_1_3(None, [], [], bytes(32), callback) == S.INVALID_ARGUMENT
    assert callback.calls == [(S.INVALID_ARGUMENT, None)]
    assert "got 0 model files, must be 1" in device.last_error()
    assert device.prepareModelFromCache([], [], bytes(32), None) == S.INVALID_ARGUMENT
    assert prepare(device).configureExecutionBurst(None, None, None) == (S.GENERAL_FAILURE, None)
    assert "callback: is null" in device.last_error()


@pytest.mark.parametrize("cache", [[None], [hidl.Handle()] * 3, "no list", None])
def test_7_2_bad_cache_arguments_never_fail_a_preparation(device, cache):
    from helpers.hal_clients import add_model

    callback = Callback()
    assert device.prepareModel_1_3(add_model(), 1, 1, None, cache, cache, b"short", callback) == S.NONE
    assert callback.wait()[0] == S.NONE
