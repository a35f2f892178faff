"""The other process of tests/fmq/test_processes.py: python -m helpers.fmq_peer WHAT TABLE FD [COUNT [SEED]]."""

import os
import sys
import zlib

import numpy as np

from helpers.fmq_items import ITEM
from nnfast import fmq


def chunks(count, seed):
    """Elements with random content, in chunks of random lengths."""
    rng = np.random.default_rng(seed)
    while count:
        size = min(count, int(rng.integers(1, 17)))
        yield rng.integers(0, 256, size * ITEM.itemsize, np.uint8).view(ITEM)
        count -= size


def checksum(count, seed):
    total = 0
    for chunk in chunks(count, seed):
        total = zlib.crc32(chunk.tobytes(), total)
    return total


def write(queue, count, seed):
    for i, chunk in enumerate(chunks(count, seed)):
        assert queue.write(chunk, timeout=600, spin_us=(0, 20)[i % 2]) == "ok"


def read(queue, count, seed):
    """Read in other chunks than were written; the checksum."""
    rng, total = np.random.default_rng(~seed & 0xffff), 0
    while count:
        size = min(count, int(rng.integers(1, 17)))
        reason, elements = queue.read(size, timeout=600, spin_us=(0, 20)[size % 2])
        assert reason == "ok", reason
        total = zlib.crc32(elements.tobytes(), total)
        count -= size
    return total


def main(what, table, fd, count="0", seed="0"):
    descriptor = fmq.Descriptor.from_table(bytes.fromhex(table), (int(fd),), ITEM.itemsize)
    queue = fmq.MessageQueue.attach(descriptor, ITEM)
    os.close(int(fd))
    if what == "write":
        write(queue, int(count), int(seed))
    elif what == "read":
        print(read(queue, int(count), int(seed)))
    elif what == "write forever":
        print("ready", flush=True)
        while True:
            write(queue, 1000, int(seed))


if __name__ == "__main__":
    main(*sys.argv[1:])
