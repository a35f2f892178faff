"""The elements of burst queues [NN 4.2]: tagged unions of 24 bytes, laid out as HIDL's C++ types are.

Fields have the names of the union's members; all payloads of a type lie at the same offset. Zero an element before
filling it in: what no field covers must be zero.
"""

from enum import IntEnum

import numpy as np

DATUM_BYTES = 24


class RequestTag(IntEnum):
    """Discriminators of FmqRequestDatum."""

    packetInformation = 0
    inputOperandInformation = 1
    inputOperandDimensionValue = 2
    outputOperandInformation = 3
    outputOperandDimensionValue = 4
    poolIdentifier = 5
    measureTiming = 6


class ResultTag(IntEnum):
    """Discriminators of FmqResultDatum."""

    packetInformation = 0
    operandInformation = 1
    operandDimensionValue = 2
    executionTiming = 3


def _struct(size, **members):
    """dtype of a struct: members as name=(type, offset)."""
    types, offsets = zip(*members.values())
    return np.dtype({"names": list(members), "formats": list(types), "offsets": list(offsets), "itemsize": size})


def _union(tags, offset, payloads):
    """dtype of a tagged union: one byte of tag, payloads all at `offset`."""
    return _struct(DATUM_BYTES, tag=("u1", 0), **{tag.name: (payload, offset) for tag, payload in zip(tags, payloads)})


DATA_LOCATION = _struct(12, poolIndex=("<u4", 0), offset=("<u4", 4), length=("<u4", 8))
OPERAND_INFORMATION = _struct(20, hasNoValue=("u1", 0), location=(DATA_LOCATION, 4), numberOfDimensions=("<u4", 16))

REQUEST_DATUM = _union(RequestTag, 4, (
    _struct(16, packetSize=("<u4", 0), numberOfInputOperands=("<u4", 4), numberOfOutputOperands=("<u4", 8),
            numberOfPools=("<u4", 12)),
    OPERAND_INFORMATION, "<u4", OPERAND_INFORMATION, "<u4", "<i4", "<i4"))
"""FmqRequestDatum: payload at offset 4."""

RESULT_DATUM = _union(ResultTag, 8, (
    _struct(12, packetSize=("<u4", 0), errorStatus=("<i4", 4), numberOfOperands=("<u4", 8)),
    _struct(8, isSufficient=("u1", 0), numberOfDimensions=("<u4", 4)), "<u4",
    _struct(16, timeOnDevice=("<u8", 0), timeInDriver=("<u8", 8))))
"""FmqResultDatum: payload at offset 8."""
