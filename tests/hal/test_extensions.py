"""Vendor extensions through the faces of HAL 1.2 and 1.3 [NN 1.7, 2.6, 9, 11.3, 11.4, 11.16]."""

import copy
import re

import numpy as np
import pytest

from helpers.hal_clients import Callback, L, T, raw_add
from helpers.vendor_extensions import AMOUNTS, FACTOR, MONEY, SAME, TIMES, unit
from nnfast import Device, Memory, ModelBuilder
from nnfast.errors import ErrorStatus as S
from nnfast.errors import InvalidArgument
from nnfast.hal import types as hidl
from nnfast.hal import utils, v1_0, v1_1, v1_2, v1_3
from nnfast.hal.convert import convert_to
from nnfast.hal.layout import from_canonical
from nnfast.hal.models import to_canonical
from nnfast.hal.types import (
    BufferDesc,
    BufferRole,
    DataLocation,
    ExtensionNameAndPrefix,
    MemoryPool,
    Operand,
    Operation,
    Request,
    RequestArgument,
)
from nnfast.hal.validate import reason, validateModel, validateRequest

NAME = "com.example.money"
FACES = {"1.2": v1_2, "1.3": v1_3}
X = np.array([3, -4, 5], np.int64)


@pytest.fixture(params=FACES)
def face(request):
    """A device with the extension, under HAL 1.2 and 1.3."""
    return FACES[request.param].Device(Device(num_threads=1, extensions=[MONEY]))


@pytest.fixture
def plain(face):
    """The same version's face of a device without extensions."""
    return FACES[face.hal].Device(Device(num_threads=1, extensions=[]))


def times_model(face, prefix=1):
    """y = x * factor (7, in operandValues), with this prefix, as HIDL records: x 0, factor 1, y 2."""
    def code(id):
        return prefix << 16 | id

    operands = [
        Operand(code(AMOUNTS.id), [3], 1, lifetime=L.SUBGRAPH_INPUT, extraParams=unit(100)),
        Operand(code(FACTOR.id), [], 1, lifetime=L.CONSTANT_COPY, location=DataLocation(0, 0, 8)),
        Operand(code(AMOUNTS.id), [3], 0, lifetime=L.SUBGRAPH_OUTPUT, extraParams=unit(100)),
    ]
    graph = hidl.Subgraph(operands, [Operation(code(TIMES.id), [0, 1], [2])], [0], [2])
    model = hidl.Model1_3(graph, [], np.int64(7).tobytes(), [], False, [ExtensionNameAndPrefix(NAME, prefix)])
    return convert_to(model, face.hal)


def main(model):
    return model.main if isinstance(model, hidl.Model1_3) else model


def query(face, model, hal=None):
    return getattr(face, f"getSupportedOperations_{(hal or face.hal).replace('.', '_')}")(model)


def launch(face, model):
    """(status of the launch, what the callback was told) of a preparation."""
    callback = Callback()
    arguments = (1, [], [], bytes(32)) if face.hal == "1.2" else (1, 1, None, [], [], bytes(32))
    status = getattr(face, f"prepareModel_{face.hal.replace('.', '_')}")(model, *arguments, callback)
    return status, callback.wait()


def refused(face, model):
    """The reason why query, launch and callback refuse an invalid model."""
    assert query(face, model) == (S.INVALID_ARGUMENT, []), face.last_error()
    assert launch(face, model) == (S.INVALID_ARGUMENT, (S.INVALID_ARGUMENT, None))
    return face.last_error()


def execute(face, prepared, nbytes=24, dims=()):
    """(status, output shapes, values) of an execution on shared memory."""
    memory = Memory.create(64)
    memory.array()[:24] = X.view(np.uint8)
    pools = [MemoryPool(memory)] if face.hal == "1.3" else [memory]
    request = Request([RequestArgument(False, DataLocation(0, 0, 24), list(dims))],
                      [RequestArgument(False, DataLocation(0, 32, nbytes))], pools)
    call = prepared.executeSynchronously if face.hal == "1.2" else prepared.executeSynchronously_1_3
    status, shapes, _ = call(request, 0, *() if face.hal == "1.2" else (None, None))
    return status, shapes, memory.array()[32:56].view(np.int64).tolist()


def test_2_6_supported_extensions(face, plain):
    assert plain.getSupportedExtensions() == (S.NONE, [])
    status, found = face.getSupportedExtensions()
    assert status == S.NONE and (status, found) == face.getSupportedExtensions()
    assert [(e.name, [(t.type, t.isTensor, t.byteSize) for t in e.operandTypes]) for e in found] == \
        [(NAME, [(3, False, 8), (5, True, 8), (0xFFFF, True, 3)])]


def test_11_13_names_of_extensions(face):
    for extension in face.getSupportedExtensions()[1]:
        assert re.fullmatch(r"[a-z0-9_.]+", extension.name) and "." in extension.name
        assert len({t.type for t in extension.operandTypes}) == len(extension.operandTypes)


def test_1_7_encoding(face):
    bits = FACES[face.hal].ExtensionTypeEncoding
    assert (bits.HIGH_BITS_PREFIX, bits.LOW_BITS_TYPE) == (16, 16)
    code = 7 << bits.LOW_BITS_TYPE | AMOUNTS.id
    assert utils.isExtensionOperandType(code) and utils.isExtensionOperationType(code - (1 << 32))
    assert utils.tensorHasUnspecifiedDimensions(code, [0]) and not utils.tensorHasUnspecifiedDimensions(code, [])
    for helper in (utils.nonExtensionOperandSizeOfData, utils.nonExtensionOperandSizeOfDataOverflowsUInt32):
        with pytest.raises(InvalidArgument):
            helper(code, [3])


@pytest.mark.parametrize("prefix", [1, 7, 0x7FFF, 0x8000, 0xFFFF])
def test_1_7_prefixes_belong_to_the_model(face, prefix):
    model = times_model(face, prefix)
    before = repr(model)
    assert query(face, model) == (S.NONE, [True]), face.last_error()
    status, (told, prepared) = launch(face, model)
    assert (status, told) == (S.NONE, S.NONE)
    assert execute(face, prepared)[::2] == (S.NONE, [21, -28, 35]) and repr(model) == before


def test_1_7_codes_may_be_negative(face):
    """A code of prefix 0x8000 and above as the int32 that a client may keep it in."""
    model = times_model(face, 0xFFFF)
    for record in (*main(model).operands, *main(model).operations):
        record.type -= 1 << 32
    assert query(face, model) == (S.NONE, [True])


def test_9_3_known_name_that_this_device_does_not_have(plain):
    model = times_model(plain)
    assert query(plain, model) == (S.NONE, [False])
    status, told = launch(plain, model)
    assert (status, told) == (S.NONE, (S.INVALID_ARGUMENT, None))


@pytest.mark.parametrize("place, words", [(0, "main.operand[0]: type: 0x00020005 has a prefix"),
                                          (1, "main.operand[1]: type: 0x00020003 has a prefix")])
def test_9_3_unknown_prefix_of_an_operand(face, place, words):
    model = times_model(face)
    main(model).operands[place].type += 1 << 16
    assert words + " that is not in extensionNameToPrefix" in refused(face, model)


def test_9_3_unknown_prefix_of_an_operation(face):
    model = times_model(face)
    main(model).operations[0].type += 1 << 16
    assert "main.operation[0]: operation type: 0x00020002 has a prefix" in refused(face, model)


@pytest.mark.parametrize("entries, words", [
    ([], "prefix that is not in extensionNameToPrefix"), ([(NAME, 0)], "prefix is 0"),
    ([(NAME, 1), (NAME, 2)], "must be used once"), ([(NAME, 1), ("com.example.b", 1)], "must be used once"),
    ([("money", 1)], "name is 'money'"), ([("com.example.Money", 1)], "name is"), ([(b"com.example.b", 1)], "name is"),
])
def test_11_16_maps(face, plain, entries, words):
    for one in (face, plain):
        model = times_model(one)
        model.extensionNameToPrefix = [ExtensionNameAndPrefix(*entry) for entry in entries]
        assert words in refused(one, model)


@pytest.mark.parametrize("blob, words", [
    (None, "has no bytes of parameters, AMOUNTS needs 4"), (b"", "has 0 bytes"), (bytes(3), "has 3 bytes"),
    (bytes(5), "has 5 bytes of parameters"), (unit(-1), "unit is -1, must be positive"),
    (hidl.SymmPerChannelQuantParams([1.0], 0), "has channel scales, must have none"), ("abcd", "extraParams: is str"),
])
def test_9_3_parameter_blobs(face, blob, words):
    model = times_model(face)
    main(model).operands[0].extraParams = blob
    assert words in refused(face, model)


def test_9_3_blobs_may_be_any_bytes(face):
    model = times_model(face)
    main(model).operands[0].extraParams = bytearray(unit(100))
    assert query(face, model) == (S.NONE, [True])


@pytest.mark.parametrize("place, change, words", [
    (1, {"location": DataLocation(0, 0, 7)}, "main.operand[1]: data has 7 bytes, must be 8 for FACTOR []"),
    (1, {"location": DataLocation(0, 0, 0)}, "data has 0 bytes"),
    (1, {"location": DataLocation(0, 0, 9)}, "bytes 0..9 must lie in operandValues of 8 bytes"),
    (1, {"location": DataLocation(0, 0xFFFFFFFF, 8)}, "must lie in operandValues"),
    (1, {"location": DataLocation(1, 0, 8)}, "pool is 1, must be 0"),
    (1, {"dimensions": [1]}, "rank is 1, must be 0 for scalar FACTOR"),
    (0, {"scale": 1.0}, "scale is 1, must be 0 for extension type 0x00010005"),
    (0, {"zeroPoint": 3}, "zero point is 3, must be 0"),
    (0, {"numberOfConsumers": 2}, "numberOfConsumers is 2"),
    (0, {"type": 0x10006}, "extension type 0x00010006 does not exist in com.example.money"),
    (2, {"dimensions": [1 << 30]}, "need more than 4294967295 bytes"),
])
def test_11_3_operands(face, place, change, words):
    model = times_model(face)
    for name, value in change.items():
        setattr(main(model).operands[place], name, value)
    assert words in refused(face, model)


@pytest.mark.parametrize("change, words", [
    ({"type": 0x10009}, "main.operation[0]: extension operation 0x00010009 does not exist in com.example.money"),
    ({"outputs": [9]}, "operand index 9 is outside"), ({"inputs": [0]}, "numberOfConsumers"),
    ({"outputs": [2, 2]}, "operand 2 is already written"), ({"outputs": []}, "no operation writes it"),
    ({"inputs": [1, 0]}, "TIMES input 0 (x): type FACTOR, must be"),
])
def test_11_4_operations(face, change, words):
    model = times_model(face)
    for name, value in change.items():
        setattr(main(model).operations[0], name, value)
    assert words in refused(face, model)


def test_11_4_generic_rules_hold_for_extensions_that_the_device_does_not_have(plain):
    model = times_model(plain)
    main(model).operations[0].outputs = [9]
    assert "operand index 9 is outside" in refused(plain, model)
    model = times_model(plain)
    main(model).operands[1].location.length = 9
    assert "must lie in operandValues" in refused(plain, model)


@pytest.mark.parametrize("module", [v1_0, v1_1])
def test_11_4_versions_before_1_2_have_no_extensions(face, module):
    old = module.Device(face.device)
    name = "getSupportedOperations" + ("_1_1" if module is v1_1 else "")
    assert getattr(old, name)(convert_to(times_model(face), old.hal)) == (S.INVALID_ARGUMENT, [])
    assert f"does not exist in HAL {old.hal}" in old.last_error()


def test_9_7_oem(face):
    model = convert_to(raw_add(), face.hal)
    for operand in main(model).operands[:2]:
        operand.type, operand.scale, operand.zeroPoint = T.TENSOR_OEM_BYTE, -1.0, 7
    main(model).operations[0].type = 10000
    assert query(face, model) == (S.NONE, [False])
    assert launch(face, model) == (S.NONE, (S.INVALID_ARGUMENT, None))
    main(model).operations[0].outputs = [9]
    assert "operand index 9 is outside" in refused(face, model)


def test_9_3_capabilities_have_no_entries(face):
    plain = FACES[face.hal].Device(Device(num_threads=1, extensions=[]))
    name = f"getCapabilities_{face.hal.replace('.', '_')}"
    assert getattr(face, name)() == getattr(plain, name)()


def test_3_14_output_shapes(face):
    model = times_model(face)
    main(model).operands[2].dimensions = [0]
    prepared = launch(face, model)[1][1]
    status, shapes, values = execute(face, prepared)
    assert (status, shapes, values) == (S.NONE, [hidl.OutputShape([3], True)], [21, -28, 35])
    status, shapes, values = execute(face, prepared, nbytes=23)
    assert (status, shapes) == (S.OUTPUT_INSUFFICIENT_SIZE, [hidl.OutputShape([3], False)]) and values == [0] * 3


def test_11_8_requests(face):
    prepared = launch(face, times_model(face))[1][1]
    assert execute(face, prepared, dims=[3])[::2] == (S.NONE, [21, -28, 35])
    for dims in ([2], [3, 1], [0]):
        assert execute(face, prepared, dims=dims)[0] == S.INVALID_ARGUMENT


def test_11_8_what_can_be_said_of_models_and_requests_without_a_device(face):
    model = times_model(face)
    assert validateModel(model), reason(validateModel, model)
    factor = main(model).operands[1]
    factor.lifetime, factor.location, main(model).inputIndexes = L.SUBGRAPH_INPUT, DataLocation(), [0, 1]
    assert validateModel(model), reason(validateModel, model)
    memory = Memory.create(64)

    def request(length=24, factor_length=8, dims=()):
        pools = [MemoryPool(memory)] if face.hal == "1.3" else [memory]
        return Request([RequestArgument(False, DataLocation(0, 0, length), list(dims)),
                        RequestArgument(False, DataLocation(0, 24, factor_length))],
                       [RequestArgument(False, DataLocation(0, 32, 24))], pools)

    for right in (request(), request(length=5), request(dims=[3])):  # how long is for the device to say
        assert validateRequest(right, model), reason(validateRequest, right, model)
        assert validateRequest(right, model, False), reason(validateRequest, right, model, False)
    for wrong in (request(length=65), request(factor_length=41), request(dims=[4]), request(length=0)):
        assert not validateRequest(wrong, model)
    main(model).operands[0].type += 1 << 16
    assert "prefix that is not in extensionNameToPrefix" in reason(validateModel, model)


def test_6_1_memory_domains():
    face = v1_3.Device(Device(num_threads=1, extensions=[MONEY]))
    prepared = launch(face, times_model(face))[1][1]
    for inputs, outputs in (([BufferRole(0, 0)], []), ([], [BufferRole(0, 0)])):
        assert face.allocate(BufferDesc([]), [prepared], inputs, outputs) == (S.GENERAL_FAILURE, None, 0)
        assert "there are no buffers for types of extensions" in face.last_error()
    assert face.allocate(BufferDesc([]), [prepared], [BufferRole(0, 1)], [])[0] == S.INVALID_ARGUMENT


def test_constants_in_pools(face):
    memory = Memory.create(32)
    memory.array()[3:11] = np.array([9], np.int64).view(np.uint8)
    model = times_model(face)
    operand = main(model).operands[1]
    operand.lifetime, operand.location = L.CONSTANT_REFERENCE, DataLocation(0, 3, 8)
    model.pools = [memory]
    prepared = launch(face, model)[1][1]
    memory.array()[:] = 0  # the model is that of the moment of the call
    assert execute(face, prepared)[::2] == (S.NONE, [27, -36, 45])
    operand.location = DataLocation(0, 25, 8)
    assert "must lie in pools[0] of 32 bytes" in refused(face, model)


def test_way_back_gives_the_same_model(face):
    b = ModelBuilder("money")
    b.extension_code("com.example.first", 0)
    x = b.input(AMOUNTS, (3,), parameters=unit(5))
    z = b.add(TIMES, [x, b.scalar(3, FACTOR)])
    y = b.output(AMOUNTS, (0,), parameters=unit(5))
    model = b.operation(SAME, [z], [y]).build()
    back = to_canonical(from_canonical(model, face.hal), face.hal)
    assert back.extensions == model.extensions == (("com.example.first", 1), (NAME, 2))
    for one, other in zip(model.main.operands, back.main.operands):
        assert (one.type, one.dims, one.parameters) == (other.type, other.dims, other.parameters)
        assert np.array_equal(one.data, other.data)
    assert [o.type for o in back.main.operations] == [0x20002, 0x20001]


def test_junk_in_every_field_is_answered_by_a_status(face):
    """Never an exception, and never more than refused: random damage of a model with an extension."""
    rng = np.random.default_rng(5)
    junk = (None, -1, 0, 1, 0x10001, 0xFFFFFFFF, 1 << 40, 2.5, "x", b"", b"1234", [], [0], [1, 2, 3], object())
    for _ in range(400):
        model = copy.deepcopy(times_model(face))
        records = [*main(model).operands, *main(model).operations, *model.extensionNameToPrefix]
        record = records[rng.integers(len(records))]
        name = list(type(record).__dataclass_fields__)[rng.integers(len(type(record).__dataclass_fields__))]
        setattr(record, name, junk[rng.integers(len(junk))])
        status, flags = query(face, model)
        assert (status, flags) in ((S.INVALID_ARGUMENT, []), (S.NONE, [True]), (S.NONE, [False])), face.last_error()
        assert "internal error" not in face.last_error()
