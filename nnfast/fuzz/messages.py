"""Control messages for the fuzzer: valid ones of every kind, and what becomes of them by accident or malice."""

import os
import socket
from collections import deque
from copy import deepcopy
from dataclasses import dataclass, field

import msgspec
import numpy as np

from .. import Device, Memory
from ..compiler.passes import NAMES
from ..fmq import REQUEST_DATUM, RESULT_DATUM, MessageQueue
from ..model.records import encode
from ..service.wire import protocol
from ..service.wire.channel import LARGE, sealed_memfd
from ..service.wire.models import pack
from ..service.wire.records import Argument, Place, Pool, Queue, SharedMemory, Use

ODD = (0, 1, -1, 2, 63, 64, 65, 255, 1 << 16, (1 << 31) - 1, -(1 << 31), 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 63) - 1,
       -(1 << 63), (1 << 64) - 1, None, True, False, 0.0, -1.0, 1e-300, 1e300, float("nan"), float("inf"), "", "medium",
       "fast_single_answer", "arena", "x" * 300, b"", b"\xff" * 32, [], [[]], [0], [-1] * 40, {}, {"a": 1})
ARENA_BYTES = 1 << 18
PASSES = (*NAMES, "unknown")
MODELS, REMEMBERED = 48, 64


@dataclass
class Known:
    """Numbers of what a session has, by kind."""

    numbers: dict = field(default_factory=dict)

    def pick(self, random, kind):
        """One that is there, mostly."""
        there = self.numbers.get(kind)
        return random.choice(there) if there and random.random() < 0.9 else random.choice((0, 1, 2, -1, 1 << 40))


class Messages:
    """Draws messages with their descriptors. random: random.Random; model: what is prepared, of one input and output.

    kinds: only those of this name, None for all.
    """

    def __init__(self, random, model):
        self.random = random
        prepared = Device(num_threads=1).prepare(model)
        self.input, self.output = (info[0] for info in (prepared.inputs, prepared.outputs))
        self.sizes = [array.nbytes for array in (self._zeros(self.input), self._zeros(self.output))]
        self.model = pack(model)
        content = os.pread(self.model, os.fstat(self.model).st_size, 0)
        self.models = [sealed_memfd([self.mutate_bytes(content)]) for _ in range(MODELS)]
        self.arena, self.memory = Memory.create(ARENA_BYTES), Memory.create(1 << 16)
        self.queues = MessageQueue.create(REQUEST_DATUM, 64), MessageQueue.create(RESULT_DATUM, 64)
        self.others = [*self.models, self.model, self.arena.fileno(), self.memory.fileno(), *os.pipe(),
                       os.open("/dev/null", os.O_RDWR), os.open("/", os.O_RDONLY), os.eventfd(0), os.eventfd(1),
                       os.memfd_create("empty"), *(sock.detach() for sock in socket.socketpair())]
        self.makers = [(maker, weight) for weight, makers in (
            (20, (self._run, self._execute, self._write, self._read, self._get_buffer, self._release, self._cancel,
                  self._reset, self._info, self._load, self._ping, self._free, self._error, self._memories)),
            (6, (self._arena, self._add_memory, self._stream, self._fenced, self._allocate)),
            (2, (self._capabilities, self._explain, self._stats, self._burst, self._check_cache, self._load_cache,
                 self._store)),
            (1, (self._prepare, self._check, self._unsupported))) for maker in makers]
        self._weights = [weight for _, weight in self.makers]
        self._makers = [maker for maker, _ in self.makers]
        self._recent = deque(maxlen=REMEMBERED)

    def close(self):
        """Close the descriptors that it draws from."""
        ours = {self.arena.fileno(), self.memory.fileno()}
        for fd in set(self.others) - ours:
            os.close(fd)
        for queue in self.queues:
            queue.close()

    @staticmethod
    def _zeros(info):
        return np.zeros(info.shape, info.dtype)

    # -- what a session begins with ----------------------------------------------------------------------------------
    def begin(self, ask):
        """Give a session one object of each kind. ask(message, fds) -> answer or None. Returns Known."""
        known = Known()
        ask(protocol.Arena(ARENA_BYTES), [self.arena.fileno()])
        ask(protocol.AddMemory(7, "ashmem", self.memory.size, 3, 0), [self.memory.fileno()])
        known.numbers["memory"] = [7]
        number = ask(protocol.Prepare("fast_single_answer", "medium"), [self.model]).number
        known.numbers["prepared"] = [number]
        known.numbers["buffer"] = [ask(protocol.Allocate([Use(number, 0, 1.0)], [], ()), []).number]
        known.numbers["stream"] = [ask(protocol.OpenStream(number), []).number]
        message, fds = self._burst(known)
        known.numbers["burst"] = [ask(msgspec.structs.replace(message, prepared=number), fds).number]
        return known

    # -- one message -------------------------------------------------------------------------------------------------
    def draw(self, known):
        """(bytes of a packet, its descriptors)."""
        random, chance = self.random, self.random.random()
        if chance < 0.04:
            return random.randbytes(random.choice((1, 2, 5, 20, 100, 3000))), self._descriptors()
        if chance < 0.05:
            return LARGE.pack(0xC1, random.choice((0, 1, 4096, 1 << 40))), self._descriptors()
        if chance < 0.12 and self._recent:
            return random.choice(self._recent)  # what the driver has bound, while other things have gone
        message, fds = random.choices(self._makers, self._weights)[0](known)
        data = encode(message)
        if chance < 0.25:
            data = self.mutate_bytes(data)
        elif chance < 0.55:
            data = self.mutate_tree(data)
        if random.random() < 0.1:
            fds = self._descriptors()
        self._recent.append((data, fds))
        return data, fds

    def _descriptors(self):
        random = self.random
        if random.random() < 0.5:
            return []
        return random.choices(self.others, k=random.choice((1, 1, 1, 2, 3, 5, 30)))

    def mutate_bytes(self, data):
        """Bytes changed, put in, left out, doubled or cut."""
        random, data = self.random, bytearray(data)
        for _ in range(random.choice((1, 1, 2, 4))):
            at = random.randrange(len(data) + 1)
            match random.randrange(5):
                case 0:
                    data[at:at + 1] = random.randbytes(1)
                case 1:
                    data[at:at] = random.randbytes(random.randrange(1, 9))
                case 2:
                    del data[at:at + random.randrange(1, 9)]
                case 3:
                    data[at:at] = data[at:at + 16]
                case 4:
                    del data[at:]
        return bytes(data) or b"\0"

    def mutate_tree(self, data):
        """A valid packet of changed content: one value, or another number of them, at any depth."""
        random, tree = self.random, msgspec.msgpack.decode(data)
        for _ in range(random.choice((1, 1, 2))):
            node = tree
            while True:
                if not node:
                    break
                place = random.randrange(len(node))
                if isinstance(node[place], list) and random.random() < 0.8:
                    node = node[place]
                    continue
                match random.randrange(6):
                    case 0:
                        del node[place]
                    case 1:
                        node.insert(place, deepcopy(random.choice(ODD)))
                    case 2 if isinstance(node[place], int):
                        node[place] += random.choice((-64, -1, 1, 64))
                    case _:
                        node[place] = deepcopy(random.choice(ODD))
                break
        try:
            return encode(tree)
        except OverflowError:
            return data

    # -- valid ones --------------------------------------------------------------------------------------------------
    def _arguments(self):
        fine = self.random.random() < 0.7
        return ([Argument(0, 0, self.sizes[0] if fine else 1, (), False)],
                [Argument(1, 0, self.sizes[1] if fine else 1 << 20, (), False)])

    def _pool(self, known):
        kind = self.random.choice(("arena", "memory", "buffer"))
        number = self.random.choice((0, 64, 4096)) if kind == "arena" else known.pick(self.random, kind)
        return Pool(kind, number, self.random.choice((self.sizes[0], self.sizes[1], 1 << 14)))

    def _pools(self, known):
        return [self._pool(known), self._pool(known)]

    def _run(self, known):
        random = self.random
        stream = known.pick(random, "stream") if random.random() < 0.2 else 0
        return protocol.Run(known.pick(random, "prepared"), [Place(0, self.input.shape)],
                            [1 << 16] if random.random() < 0.7 else None, stream, random.randrange(4)), ()

    def _execute(self, known):
        return protocol.Execute(known.pick(self.random, "prepared"), *self._arguments(), self._pools(known),
                                launch=self.random.random() < 0.3), ()

    def _fenced(self, known):
        fences = [self.random.choice(self.others)] if self.random.random() < 0.3 else []
        return protocol.Fenced(known.pick(self.random, "prepared"), *self._arguments(), self._pools(known)), fences

    def _write(self, known):
        return protocol.WriteBuffer(known.pick(self.random, "buffer"), self._pool(known), ()), ()

    def _read(self, known):
        return protocol.ReadBuffer(known.pick(self.random, "buffer"), self._pool(known)), ()

    def _get_buffer(self, known):
        return protocol.GetBuffer(known.pick(self.random, "buffer")), ()

    def _release(self, known):
        kind = self.random.choice(("prepared", "buffer", "memory", "fenced", "stream", "load", "burst"))
        number = self.random.randrange(8, 60) if kind == "memory" else self.random.randrange(20, 1 << 20)
        return protocol.Release([(kind, number)] * self.random.choice((0, 1, 3))), ()

    def _cancel(self, known):
        return protocol.Cancel(self.random.randrange(8)), ()

    def _reset(self, known):
        return protocol.ResetStream(known.pick(self.random, "stream")), ()

    def _info(self, known):
        return protocol.GetFencedInfo(self.random.randrange(40)), ()

    def _load(self, known):
        return protocol.Load(self.random.randrange(40), launch=self.random.random() < 0.3), ()

    def _ping(self, known):
        return protocol.Ping(), ()

    def _arena(self, known):
        return protocol.Arena(ARENA_BYTES), [self.arena.fileno()]

    def _add_memory(self, known):
        return protocol.AddMemory(self.random.randrange(7, 60), "ashmem", self.memory.size, 3, 0), \
            [self.memory.fileno()]

    def _stream(self, known):
        return protocol.OpenStream(known.pick(self.random, "prepared")), ()

    def _allocate(self, known):
        use = Use(known.pick(self.random, "prepared"), 0, 1.0)
        return protocol.Allocate(*self.random.choice((([use], []), ([], [use]), ([use], [use]))), ()), ()

    def _capabilities(self, known):
        return protocol.GetCapabilities(), ()

    def _explain(self, known):
        return protocol.Explain(known.pick(self.random, "prepared")), ()

    def _stats(self, known):
        return protocol.GetStats(), ()

    def _burst(self, known):
        queues = [queue.descriptor for queue in self.queues]
        records = [Queue([(g.flags, g.fd_index, g.offset, g.extent) for g in queue.grantors], len(queue.fds),
                         queue.quantum, queue.flavor) for queue in queues]
        slots = [self.random.randrange(4)] if self.random.random() < 0.5 else []
        memories = [SharedMemory("ashmem", self.memory.size, 3, 0) for _ in slots]
        return protocol.OpenBurst(known.pick(self.random, "prepared"), *records, slots, memories), \
            [fd for queue in queues for fd in queue.fds] + [self.memory.fileno() for _ in slots]

    def _free(self, known):
        return protocol.FreeMemory(known.pick(self.random, "burst"), self.random.randrange(-1, 5)), ()

    def _error(self, known):
        return protocol.GetBurstError(known.pick(self.random, "burst")), ()

    def _memories(self, known):
        return protocol.Memories(self.random.randrange(99), "", [SharedMemory("ashmem", 1 << 16, 3, 0)]), \
            [self.memory.fileno()]

    def _check_cache(self, known):
        return protocol.CheckCache(bytes(32), self._passes()), self.random.choices(self.others, k=2)

    def _load_cache(self, known):
        return protocol.LoadCache(bytes(32), self._passes(), None, None, self.random.randrange(3)), \
            self.random.choices(self.others, k=2)

    def _store(self, known):
        return protocol.Store(known.pick(self.random, "prepared"), bytes(32)), self.random.choices(self.others, k=2)

    def _about(self):
        return [self.random.choice(self.models) if self.random.random() < 0.7 else self.model]

    def _prepare(self, known):
        return protocol.Prepare("fast_single_answer", "medium", launch=self.random.random() < 0.3,
                                without_passes=self._passes()), self._about()

    def _passes(self):
        return [self.random.choice(PASSES)] if self.random.random() < 0.2 else []

    def _check(self, known):
        return protocol.Check("1.3"), self._about()

    def _unsupported(self, known):
        return protocol.GetUnsupported(), self._about()
