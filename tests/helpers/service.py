"""Small models, servers and clients for the tests of the driver's process."""

import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np

from helpers.processes import environment
from nnfast import ModelBuilder, Request, RequestArgument
from nnfast.service import connect
from nnfast.service.server.listening import listen
from nnfast.service.server.server import Options, Server

FLOAT = "TENSOR_FLOAT32"


def add_model(size=4, name="add"):
    """z = x + y."""
    b = ModelBuilder(name)
    x, y, z = b.input(FLOAT, (size,), name="x"), b.input(FLOAT, (size,), name="y"), b.output(FLOAT, (size,), name="z")
    return b.operation("ADD", [x, y, b.scalar(0)], [z]).build()


def dense_model(seed=0, width=64):
    """One FULLY_CONNECTED with weights drawn by `seed`."""
    rng = np.random.default_rng(seed)
    b = ModelBuilder("dense")
    x = b.input(FLOAT, (1, width), name="x")
    w = b.constant(rng.standard_normal((width, width), np.float32))
    bias = b.constant(rng.standard_normal(width, np.float32))
    y = b.output(FLOAT, (1, width), name="y")
    return b.operation("FULLY_CONNECTED", [x, w, bias, b.scalar(0)], [y]).build()


def reshape_model():
    """y = RESHAPE(x, shape): the shape of the result is known at execution."""
    b = ModelBuilder("reshape")
    x, shape = b.input(FLOAT, (2, 6), name="x"), b.input("TENSOR_INT32", (2,), name="shape")
    y = b.output(FLOAT, (0, 0), name="y")
    return b.operation("RESHAPE", [x, shape], [y]).build()


def gather_model():
    """y = GATHER(x, indexes): fails on an index that is out of range."""
    b = ModelBuilder("gather")
    x, at = b.input(FLOAT, (4,), name="x"), b.input("TENSOR_INT32", (2,), name="at")
    y = b.output(FLOAT, (2,), name="y")
    return b.operation("GATHER", [x, b.scalar(0), at], [y]).build()


def endless_model():
    """WHILE with a condition that never ends: runs until something stops it (15 s at most)."""
    condition, body = ModelBuilder(), ModelBuilder()
    one = condition.input(FLOAT, (1,))
    go = condition.output("TENSOR_BOOL8", (1,))
    condition.operation("LESS", [one, condition.constant(np.float32([2]))], [go])
    inside, after = body.input(FLOAT, (1,)), body.output(FLOAT, (1,))
    body.operation("MUL", [inside, body.constant(np.float32([1])), body.scalar(0)], [after])
    b = ModelBuilder("endless")
    x, y = b.input(FLOAT, (1,), name="x"), b.output(FLOAT, (1,), name="y")
    return b.operation("WHILE", [b.subgraph(condition), b.subgraph(body), x], [y]).build()


def state_model():
    """total = state + x, carried by a stream."""
    b = ModelBuilder("sum")
    x, state = b.input(FLOAT, (2,), name="x"), b.input(FLOAT, (2,), name="state")
    total = b.output(FLOAT, (2,), name="total")
    carried = b.output(FLOAT, (2,), name="carried")
    b.operation("ADD", [state, x, b.scalar(0)], [total])
    b.operation("ADD", [total, b.constant(np.zeros(2, np.float32)), b.scalar(0)], [carried])
    return b.state(state, carried).build()


def add_request(x, y, out):
    """Request of add_model on plain memory."""
    n = x.nbytes
    return Request((RequestArgument(0, 0, n), RequestArgument(0, n, n)), (RequestArgument(1, 0, n),),
                   (x.tobytes() + y.tobytes(), out))


class OtherProcess:
    """A client in a process of its own: evaluates expressions with `device`, `np` and everything of this file."""

    _CODE = """
import sys
from helpers.service import *
device = connect(sys.argv[1], patience=20)
kept = []
print("there", flush=True)
for line in sys.stdin:
    try:
        found = eval(line)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    print(found, flush=True)
"""

    def __init__(self, path):
        self.process = subprocess.Popen([sys.executable, "-c", self._CODE, path], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE,
                                        env=environment())
        assert self._line() == "there"

    def _line(self):
        return self.process.stdout.readline().strip()

    def ask(self, expression):
        """What an expression gives there, as text."""
        self.process.stdin.write(expression + "\n")
        self.process.stdin.flush()
        return self._line()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.communicate()


@contextmanager
def serving(folder, **options):
    """(path, Server) of a server in a thread of this process."""
    path = str(folder / "nnfast.sock")
    server = Server([listen(path)], Options(**{"threads": 1, "drain_seconds": 2.0, **options}))
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield path, server
    finally:
        server.stop()
        thread.join(600)
        assert not thread.is_alive()


def preparations(server):
    """A list that gets the device of each model that the server prepares from now on."""
    devices, prepare = [], server.registry.prepare
    server.registry.prepare = lambda device, *rest: devices.append(device) or prepare(device, *rest)
    return devices


def core_ns(server):
    """Core time that the executions of all clients have taken: more than before once something has begun to run."""
    return sum(session.device.gate.used_ns for session in server.sessions())


def in_flight(server):
    """Executions of all clients that run or wait, without those of bursts."""
    return sum(session.in_flight for session in server.sessions())


def until(condition, seconds=600.0):
    """Wait until a condition holds; whether it does."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def reach(path):
    """The device of a server that is about to start."""
    return connect(path, patience=120)
