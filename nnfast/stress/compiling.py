"""Ways to have a model file compiled, as functions of device, path and random.Random."""

import mmap
from dataclasses import replace
from tempfile import TemporaryFile

from .. import Memory, load
from ..conformance.hal_face import HalFace
from ..driver.memory import MMAP_FD
from ..hal.layout import Layout
from ..hal.pools import from_memory, to_memory

HAL = "1.3"


def from_file(device, path, chance):
    """The file as it is."""
    return device.prepare(load(path))


def from_mapping(device, path, chance):
    """By HAL 1.3, with the constants in a pool of kind mmap_fd: in a file of a file system, which the driver reads,
    or in a memfd that nobody can shrink, which it maps.
    """
    model = Layout(load(path, arithmetic="nnapi"), HAL).model()
    pools = [_in_file(to_memory(pool, HAL, path), chance.random() < 0.5) for pool in model.pools]
    return HalFace(device, HAL).prepare(replace(model, pools=pools))


def _in_file(memory, is_sealed):
    """The bytes of a memory as a pool that is read through a descriptor."""
    if is_sealed:
        return from_memory(Memory(MMAP_FD, memory.fileno(), memory.size, mmap.PROT_READ))
    with TemporaryFile() as stream:
        stream.write(memory.array())
        stream.flush()
        return from_memory(Memory(MMAP_FD, stream.fileno(), memory.size, mmap.PROT_READ))
