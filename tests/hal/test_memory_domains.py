"""IDevice.allocate and IBuffer ([NN 6.7], VTS MemoryDomainTests; the canonical rules are in tests/driver)."""

import numpy as np
import pytest

from helpers.hal_clients import Pools, add_model, execute, prepare
from nnfast import Memory
from nnfast.errors import ErrorStatus as S
from nnfast.hal.types import BufferDesc, BufferRole, DataLocation, MemoryPool, Request, RequestArgument
from nnfast.hal.v1_3 import Device

REFUSED = (S.INVALID_ARGUMENT, None, 0)


@pytest.fixture
def prepared(device):
    return prepare(device)


def memory(values):
    result = Memory.create(4 * len(values))
    result.array().view(np.float32)[:] = values
    return result


def with_tokens(input_token=None, output_token=None):
    """The request of Pools with buffers in place of its memory."""
    pools = Pools()
    for place, token in enumerate((input_token, output_token)):
        if token is not None:
            pools.request.pools[place] = MemoryPool(token=token)
            argument = (pools.request.inputs, pools.request.outputs)[place][0]
            argument.location = DataLocation(place, 0, 0)
    return pools


def test_6_1_empty_roles(device, prepared):
    assert device.allocate(BufferDesc(), [], [], []) == REFUSED
    assert device.allocate(BufferDesc(), [prepared], [], []) == REFUSED


def test_6_1_null_and_foreign_models(device, canonical):
    other = prepare(Device())
    for model in (None, object(), other):
        assert device.allocate(BufferDesc(), [model], [BufferRole(0, 0, 1.0)], []) == REFUSED
        assert device.allocate(BufferDesc(), [model], [], [BufferRole(0, 0, 1.0)]) == REFUSED


@pytest.mark.parametrize("role", [
    BufferRole(1, 0, 1.0), BufferRole(0, 1, 1.0), BufferRole(0, 0, 10.0), BufferRole(0, 0, 0.0),
    BufferRole(0, 0, -0.5), BufferRole(0, 0, float("nan")), BufferRole(-1, 0, 1.0), BufferRole(0, -1, 1.0),
    BufferRole(0, 0, None), None])
def test_6_1_bad_roles(device, prepared, role):
    assert device.allocate(BufferDesc(), [prepared], [role], []) == REFUSED
    assert device.allocate(BufferDesc(), [prepared], [], [role]) == REFUSED


def test_6_1_a_role_twice(device, prepared):
    role, again = BufferRole(0, 0, 1.0), BufferRole(1, 0, 1.0)
    assert device.allocate(BufferDesc(), [prepared], [role, role], []) == REFUSED
    assert device.allocate(BufferDesc(), [prepared, prepared], [role, again], []) == REFUSED


@pytest.mark.parametrize("desc", [BufferDesc([2]), BufferDesc([2, 4]), BufferDesc([-1, 3]), BufferDesc(None), None])
def test_6_1_conflicting_or_bad_description(device, prepared, desc):
    assert device.allocate(desc, [prepared], [BufferRole(0, 0, 1.0)], []) == REFUSED


def test_6_7_a_buffer_from_output_to_input(device, prepared):
    roles = [BufferRole(0, 0, 1.0)], [BufferRole(0, 0, 1.0)]
    status, buffer, token = device.allocate(BufferDesc(), [prepared], *roles)
    assert status == S.NONE and token > 0
    assert execute(prepared, with_tokens(input_token=token).request) == S.GENERAL_FAILURE  # uninitialised
    assert execute(prepared, with_tokens(output_token=token).request) == S.NONE
    pools = with_tokens(input_token=token)
    assert execute(prepared, pools.request) == S.NONE
    assert pools.output.view(np.float32).tolist() == [2, 3, 4, 5, 6, 7]
    target = Memory.create(24)
    assert buffer.copyTo(target) == S.NONE
    assert target.array().view(np.float32).tolist() == [1, 2, 3, 4, 5, 6]


def test_6_7_copies(device, prepared):
    _, buffer, _ = device.allocate(BufferDesc(), [prepared], [BufferRole(0, 0, 1.0)], [])
    right = memory(range(6))
    assert buffer.copyTo(right) == S.GENERAL_FAILURE  # uninitialised
    for wrong in (memory(range(3)), memory(range(12)), None):
        assert buffer.copyFrom(wrong, []) == S.INVALID_ARGUMENT
    for dims in ([3, 2], [6], [0, 3], [2, -1], None):
        assert buffer.copyFrom(right, dims) == S.INVALID_ARGUMENT
    assert buffer.copyFrom(right, []) == S.NONE and buffer.copyFrom(right, [2, 3]) == S.NONE
    for wrong in (Memory.create(12), Memory.create(48)):
        assert buffer.copyTo(wrong) == S.INVALID_ARGUMENT
    assert buffer.copyTo(Memory.create(24)) == S.NONE


def test_6_5_a_copy_that_fails_leaves_no_value(device, prepared):
    _, buffer, _ = device.allocate(BufferDesc(), [prepared], [BufferRole(0, 0, 1.0)], [])
    assert buffer.copyFrom(memory(range(6)), []) == S.NONE
    assert buffer.copyFrom(None, []) == S.INVALID_ARGUMENT
    assert buffer.copyTo(Memory.create(24)) == S.GENERAL_FAILURE


def test_6_7_copies_through_files_that_may_shrink(device, prepared, tmp_path):
    import mmap
    import os

    from nnfast.hal.types import Handle
    from nnfast.hal.types import Memory as HidlMemory

    path = tmp_path / "x"
    path.write_bytes(np.arange(6, dtype=np.float32).tobytes() + bytes(24))
    fd = os.open(path, os.O_RDWR)
    bits = mmap.PROT_READ | mmap.PROT_WRITE
    _, buffer, _ = device.allocate(BufferDesc(), [prepared], [BufferRole(0, 0, 1.0)], [])
    assert buffer.copyFrom(HidlMemory("mmap_fd", Handle((fd,), (bits, 0, 0)), 24), []) == S.NONE
    assert buffer.copyTo(HidlMemory("mmap_fd", Handle((fd,), (bits, 24, 0)), 24)) == S.NONE
    os.close(fd)
    assert path.read_bytes()[24:] == path.read_bytes()[:24]


def test_6_7_tokens(device, prepared):
    for token in (0, 100, 0xFFFFFFFF):
        assert execute(prepared, with_tokens(input_token=token).request) == S.INVALID_ARGUMENT
        assert execute(prepared, with_tokens(output_token=token).request) == S.INVALID_ARGUMENT
    _, buffer, token = device.allocate(BufferDesc(), [prepared], [BufferRole(0, 0, 1.0)], [])
    assert buffer.copyFrom(memory(range(6)), []) == S.NONE
    assert execute(prepared, with_tokens(input_token=token).request) == S.NONE
    del buffer
    assert execute(prepared, with_tokens(input_token=token).request) == S.INVALID_ARGUMENT  # it died with its object


def test_6_7_other_model_and_other_role(device, prepared):
    other = prepare(device, add_model())
    _, buffer, token = device.allocate(BufferDesc(), [prepared], [BufferRole(0, 0, 1.0)], [])
    assert buffer.copyFrom(memory(range(6)), []) == S.NONE
    assert execute(other, with_tokens(input_token=token).request) == S.INVALID_ARGUMENT
    assert execute(prepared, with_tokens(output_token=token).request) == S.INVALID_ARGUMENT
    assert execute(prepared, with_tokens(token, token).request) == S.INVALID_ARGUMENT


def test_5_2_a_token_has_neither_offset_nor_length(device, prepared):
    _, buffer, token = device.allocate(BufferDesc(), [prepared], [BufferRole(0, 0, 1.0)], [])
    assert buffer.copyFrom(memory(range(6)), []) == S.NONE
    request = Request([RequestArgument(False, DataLocation(0, 0, 24), [])], Pools().request.outputs,
                      [MemoryPool(token=token), MemoryPool(Memory.create(24))])
    assert execute(prepared, request) == S.INVALID_ARGUMENT


def test_6_7_dimensions(device):
    prepared = prepare(device, add_model(shape=(0, 3)))
    status, buffer, token = device.allocate(BufferDesc([2, 3]), [prepared], [BufferRole(0, 0, 1.0)],
                                            [BufferRole(0, 0, 1.0)])
    assert status == S.NONE and buffer.copyFrom(memory(range(6)), []) == S.NONE
    pools = with_tokens(input_token=token)
    pools.request.inputs[0].dimensions = [4, 3]
    assert execute(prepared, pools.request) == S.INVALID_ARGUMENT
    pools = Pools(nbytes=48, dims=[4, 3])
    pools.request.pools[1], pools.request.outputs[0].location = MemoryPool(token=token), DataLocation(1, 0, 0)
    status, shapes, _ = prepared.executeSynchronously_1_3(pools.request, 0, None, None)
    assert (status, shapes) == (S.GENERAL_FAILURE, [])  # not OUTPUT_INSUFFICIENT_SIZE [NN 6.5]
    assert buffer.copyTo(Memory.create(24)) == S.GENERAL_FAILURE  # and the buffer has no value any more
