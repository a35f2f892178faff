"""Ways to have a model file compiled, as functions of device, path, random.Random and arithmetic (of nnfast.load)."""

import mmap
from dataclasses import replace
from tempfile import TemporaryFile

from .. import Memory, load
from ..conformance.hal_face import HalFace
from ..conformance.ndk import NdkDevice
from ..driver.memory import MMAP_FD
from ..hal.layout import Layout
from ..hal.pools import from_memory, to_memory

HAL = "1.3"


def from_file(device, path, chance, arithmetic):
    """The file as it is."""
    return device.prepare(load(path, arithmetic=arithmetic))


def from_mapping(device, path, chance, arithmetic):
    """By HAL 1.3, with the constants in a pool of kind mmap_fd: in a file of a file system, which the driver reads,
    or in a memfd that nobody can shrink, which it maps. The C library gets the same memories by its functions.
    """
    if isinstance(device, NdkDevice):
        return device.prepare(load(path, arithmetic=arithmetic), place=lambda data: _mapped(data, chance))
    model = Layout(load(path, arithmetic="nnapi"), HAL).model()
    pools = [from_memory(_mapped(to_memory(pool, HAL, path).array(), chance)) for pool in model.pools]
    return HalFace(device, HAL).prepare(replace(model, pools=pools))


def _mapped(data, chance):
    """Bytes as a Memory of kind mmap_fd."""
    if chance.random() < 0.5:
        sealed = Memory.create(data.nbytes)
        sealed.array()[:] = data
        return Memory(MMAP_FD, sealed.fileno(), data.nbytes, mmap.PROT_READ)
    with TemporaryFile() as stream:
        stream.write(data)
        stream.flush()
        return Memory(MMAP_FD, stream.fileno(), data.nbytes, mmap.PROT_READ)
