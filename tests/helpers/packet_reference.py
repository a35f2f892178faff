"""What a well-formed packet is, read off [NN 4.2-4.7] word by word: slow, and nothing but the definition."""

import struct

REQUEST, INPUT, INPUT_DIM, OUTPUT, OUTPUT_DIM, POOL, TIMING = range(7)
RESULT, OPERAND, DIM, TIME = range(4)


class IllFormed(Exception):
    """The packet is not what it has to be."""


def must(condition):
    if not condition:
        raise IllFormed


class Elements:
    """The elements of a packet, taken one after the other."""

    def __init__(self, packet, start):
        self.rows = [packet[at:at + 24] for at in range(0, len(packet), 24)]
        self.start, self.next = start, 0

    def take(self, tag):
        must(self.next < len(self.rows))
        row = self.rows[self.next]
        self.next += 1
        must(row[0] == tag and not any(row[1:self.start]))
        return row[self.start:]


def request(packet):
    """(inputs, outputs, slots, measure) of the bytes of a packet, or IllFormed."""
    elements = Elements(packet, 4)
    size, inputs, outputs, pools = struct.unpack_from("<4I", elements.take(REQUEST))
    must(size == len(elements.rows))
    must(inputs + outputs + pools + 2 <= size)  # so that no list below is longer than the packet

    def operand(tag, dim_tag):
        payload = elements.take(tag)
        no_value, pool, offset, length, rank = struct.unpack_from("<B3x4I", payload)
        must(no_value in (0, 1) and not any(payload[1:4]))
        must(rank <= len(elements.rows) - elements.next)
        dims = tuple(struct.unpack_from("<I", elements.take(dim_tag))[0] for _ in range(rank))
        return bool(no_value), pool, offset, length, dims

    given = [operand(INPUT, INPUT_DIM) for _ in range(inputs)]
    wanted = [operand(OUTPUT, OUTPUT_DIM) for _ in range(outputs)]
    slots = [struct.unpack_from("<i", elements.take(POOL))[0] for _ in range(pools)]
    measure, = struct.unpack_from("<i", elements.take(TIMING))
    must(measure in (0, 1) and elements.next == len(elements.rows))
    return given, wanted, slots, bool(measure)


def result(packet):
    """(status, [(dims, is sufficient)], time on device, time in driver) of the bytes of a packet, or IllFormed."""
    elements = Elements(packet, 8)
    size, status, operands = struct.unpack_from("<IiI", elements.take(RESULT))
    must(size == len(elements.rows) and operands + 2 <= size and 0 <= status <= 4)

    def operand():
        payload = elements.take(OPERAND)
        sufficient, rank = struct.unpack_from("<B3xI", payload)
        must(sufficient in (0, 1) and not any(payload[1:4]))
        must(rank <= len(elements.rows) - elements.next)
        return tuple(struct.unpack_from("<I", elements.take(DIM))[0] for _ in range(rank)), bool(sufficient)

    shapes = [operand() for _ in range(operands)]
    times = struct.unpack_from("<2Q", elements.take(TIME))
    must(elements.next == len(elements.rows))
    return status, shapes, *times
