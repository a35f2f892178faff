"""Packets of bursts: what the parsers take comes out again when it is built from what was parsed."""

import numpy as np

from .._native.rings import (
    DATUM_BYTES,
    NO_TIME,
    build_request,
    build_result,
    parse_request,
    parse_result,
)
from ..errors import GeneralFailure, InvalidArgument
from .files import tried

MOST = 96
"""Elements of a packet."""

RESULT, RIGHT_SIZE = 1, 2
"""Bits of the first byte: a result, not a request; the size in the first element is made right."""

SIZE_AT = {False: 4, True: 8}
"""Byte of the first element at which a request, or a result, tells its size."""


class BurstPackets:
    """Byte 0 says which parser, 24 bytes follow for each element, as for csrc/stress/packet_libfuzzer.c."""

    @staticmethod
    def seeds():
        requests = (((), (), (), False), ([(True, 0, 0, 0, ())], [(False, 0, 8, 4, (2, 3))], [7], True),
                    ([(False, 1, 0, 64, ())] * 3, [(False, 0, 0, 16, (1, 0, 4))] * 2, [0, -1, 5], False))
        results = ((0, (), NO_TIME, NO_TIME), (0, [((1, 2, 3), True), ((), True)], 12, 34), (3, [((5,), False)], 0, 0))
        for flags in (0, RIGHT_SIZE):
            yield from (bytes([flags]) + build_request(*values).tobytes() for values in requests)
            yield from (bytes([flags | RESULT]) + build_result(*values).tobytes() for values in results)

    @staticmethod
    def one(data):
        if not data:
            return
        is_result = bool(data[0] & RESULT)
        count = min((len(data) - 1) // DATUM_BYTES, MOST)
        packet = np.frombuffer(data, np.uint8, count * DATUM_BYTES, 1).reshape(count, DATUM_BYTES).copy()
        if count and data[0] & RIGHT_SIZE:
            at = SIZE_AT[is_result]
            packet[0, at:at + 4] = np.frombuffer(count.to_bytes(4, "little"), np.uint8)
        parse, build, refusal = (parse_result, build_result, GeneralFailure) if is_result else \
            (parse_request, build_request, InvalidArgument)
        found = tried(lambda: parse(packet), refusal)
        if found is not None and (built := parse(build(*found))) != found:
            raise AssertionError(f"a packet of {found} comes back as {built}")
