"""The elements of bursts, byte for byte [NN 4.2, 4.5]."""

import struct

import numpy as np
import pytest

from nnfast import fmq
from nnfast.fmq import REQUEST_DATUM, RESULT_DATUM, RequestTag, ResultTag


def zeros(dtype, tag):
    datum = np.zeros(1, dtype)
    datum["tag"] = tag
    return datum


def test_both_have_24_bytes():
    assert REQUEST_DATUM.itemsize == RESULT_DATUM.itemsize == fmq.DATUM_BYTES == 24


@pytest.mark.parametrize("dtype, tags, offset", [(REQUEST_DATUM, RequestTag, 4), (RESULT_DATUM, ResultTag, 8)])
def test_the_tag_comes_first_and_payloads_behind_it(dtype, tags, offset):
    assert dtype.fields["tag"][1] == 0 and dtype["tag"].itemsize == 1
    assert [name for name in dtype.names if name != "tag"] == [tag.name for tag in tags]
    assert list(tags) == list(range(len(tags)))
    for tag in tags:
        assert dtype.fields[tag.name][1] == offset
        assert offset + dtype[tag.name].itemsize <= 24


def test_request_packet_information():
    datum = zeros(REQUEST_DATUM, RequestTag.packetInformation)
    datum["packetInformation"] = (7, 1, 2, 3)
    assert datum.tobytes() == struct.pack("<B3x4I4x", 0, 7, 1, 2, 3)


@pytest.mark.parametrize("tag", [RequestTag.inputOperandInformation, RequestTag.outputOperandInformation])
def test_operand_information(tag):
    datum = zeros(REQUEST_DATUM, tag)
    datum[tag.name] = (True, (1, 64, 16), 2)
    assert datum.tobytes() == struct.pack("<B3xB3x4I", tag, 1, 1, 64, 16, 2)


@pytest.mark.parametrize("tag, value, form", [
    (RequestTag.inputOperandDimensionValue, 4, "I"), (RequestTag.outputOperandDimensionValue, 5, "I"),
    (RequestTag.poolIdentifier, -6, "i"), (RequestTag.measureTiming, 1, "i")])
def test_single_values(tag, value, form):
    datum = zeros(REQUEST_DATUM, tag)
    datum[tag.name] = value
    assert datum.tobytes() == struct.pack(f"<B3x{form}16x", tag, value)


def test_result_data():
    datum = zeros(RESULT_DATUM, ResultTag.packetInformation)
    datum["packetInformation"] = (5, 2, 1)
    assert datum.tobytes() == struct.pack("<B7xIiI4x", 0, 5, 2, 1)
    datum = zeros(RESULT_DATUM, ResultTag.operandInformation)
    datum["operandInformation"] = (True, 2)
    assert datum.tobytes() == struct.pack("<B7xB3xI8x", 1, 1, 2)
    datum = zeros(RESULT_DATUM, ResultTag.operandDimensionValue)
    datum["operandDimensionValue"] = 9
    assert datum.tobytes() == struct.pack("<B7xI12x", 2, 9)
    datum = zeros(RESULT_DATUM, ResultTag.executionTiming)
    datum["executionTiming"] = ((1 << 64) - 1, 3)
    assert datum.tobytes() == struct.pack("<B7xQQ", 3, (1 << 64) - 1, 3)


def test_data_travel_with_every_byte(make):
    """A union's bytes are all kept, whatever its tag says."""
    writer, reader = make(8, REQUEST_DATUM)
    octets = np.random.default_rng(1).integers(0, 256, 8 * 24, np.uint8)
    assert writer.write(octets.view(REQUEST_DATUM)) == "ok"
    assert reader.read(8)[1].tobytes() == octets.tobytes()
