"""Children that are forked at random moments while threads of the parent do work of every kind.

    python ci/fork_children.py [--children 50] [--seed 1]

Each child uses the same objects in every way and must come to its end: it runs the models and compares the results,
prepares, submits, profiles, traces, calls bursts and streams, launches fenced executions, uses the cache, collects
garbage, and finds that what is its parent's alone says so. A child that stands still for 60 seconds is a failure, and
shows where it stands. The parent's own results are compared all along. Exit code 1 when anything failed.
"""

import argparse
import contextlib
import faulthandler
import gc
import os
import random
import sys
import tempfile
import threading
import time

import numpy as np

import nnfast
from nnfast import Fence, Memory, ModelBuilder, Request, RequestArgument
from nnfast.stress.driver import Driver

HANG_SECONDS = 60
MOST_MS = 20
FLOAT = "TENSOR_FLOAT32"
SHAPE = 1, 16, 16, 8


def native_model():
    """Four convolutions: one native program, on several threads."""
    rng = np.random.default_rng(3)
    b = ModelBuilder("native")
    x = b.input(FLOAT, SHAPE)
    for step in range(4):
        y = (b.output if step == 3 else b.operand)(FLOAT, SHAPE)
        weights = b.constant((rng.standard_normal((8, 3, 3, 8)) / 9).astype(np.float32))
        b.operation("CONV_2D", [x, weights, b.constant(np.zeros(8, np.float32)), b.scalar(1), b.scalar(1), b.scalar(1),
                                b.scalar(0)], [y])
        x = y
    return b.build()


def numpy_model():
    """An operation that numpy does, whose turn comes at the gate."""
    b = ModelBuilder("numpy")
    inputs = b.input("TENSOR_INT32", (2,)), b.input("TENSOR_INT32", (3,)), b.input(FLOAT, (3, 2))
    outputs = b.output(FLOAT, (2, 2)), b.output("TENSOR_QUANT8_ASYMM", (2,), scale=1.0, zero_point=0)
    return b.operation("HASHTABLE_LOOKUP", inputs, outputs).build()


def replanned_model():
    """z = RELU(RESHAPE(x, shape)), planned at execution."""
    b = ModelBuilder("replanned")
    x, shape = b.input(FLOAT, (2, 6)), b.input("TENSOR_INT32", (2,))
    y, z = b.operand(FLOAT, (0, 0)), b.output(FLOAT, (0, 0))
    return b.operation("RELU", [b.operation("RESHAPE", [x, shape], [y]) and y], [z]).build()


class Objects:
    """What parent and children use, each with its expected result. A method for each kind of work."""

    def __init__(self, folder, socket):
        rng = np.random.default_rng(1)
        self.folder, self.device = folder, nnfast.Device(num_threads=2)
        self.models = native_model(), numpy_model(), replanned_model()
        self.inputs = ([rng.standard_normal(SHAPE).astype(np.float32)],
                       [np.int32([0, 2]), np.int32([0, 1, 2]), rng.standard_normal((3, 2)).astype(np.float32)],
                       [rng.standard_normal((2, 6)).astype(np.float32), np.int32([3, 4])])
        self.prepared = [self.device.prepare(model, priority=priority)
                         for model, priority in zip(self.models, ("high", "low", "medium"))]
        self.wanted = [prepared.run(inputs) for prepared, inputs in zip(self.prepared, self.inputs)]
        nbytes = self.inputs[0][0].nbytes
        self.memory = Memory.create(2 * nbytes)
        self.memory.array()[:nbytes] = self.inputs[0][0].reshape(-1).view(np.uint8)
        self.request = Request((RequestArgument(0, 0, nbytes),), (RequestArgument(0, nbytes, nbytes),), (self.memory,))
        self.burst = self.prepared[0].burst()
        self.remote = nnfast.connect(socket, patience=HANG_SECONDS)
        self.served = self.remote.prepare(self.models[0])
        self.parent = os.getpid()

    def _same(self, place, outputs):
        assert all(map(np.array_equal, outputs, self.wanted[place])), f"wrong outputs of {self.models[place].name}"

    def run(self):
        """Every model in the calling thread."""
        for place, prepared in enumerate(self.prepared):
            self._same(place, prepared.run(self.inputs[place]))

    def replan(self):
        """A shape after the other, so that planning goes on for ever."""
        for rows in (1, 2, 3, 4, 6, 12):
            out, = self.prepared[2].run([self.inputs[2][0], np.int32([rows, 12 // rows])])
            assert out.shape == (rows, 12 // rows)

    def submit(self):
        """In the background."""
        futures = [prepared.submit(inputs) for prepared, inputs in zip(self.prepared, self.inputs)]
        for place, future in enumerate(futures):
            self._same(place, future.result())

    def use_burst(self):
        """The common burst, and one of its own."""
        self._same(0, self.burst.run(self.inputs[0]))
        with self.prepared[0].burst() as own:
            self._same(0, own.run(self.inputs[0]))

    def execute(self):
        """On memory pools, at once and behind a fence."""
        memory = Memory.create(2 * self.inputs[0][0].nbytes)
        memory.array()[:] = self.memory.array()
        request = Request(self.request.inputs, self.request.outputs, (memory,))
        self.prepared[0].execute(request)
        fence = Fence()
        execution = self.prepared[0].execute_fenced(request, [fence])
        fence.signal()
        assert execution.fence.wait(HANG_SECONDS) == "signaled"

    def prepare(self):
        """Anew, and with a cache folder."""
        self._same(0, self.device.prepare(self.models[0]).run(self.inputs[0]))
        self._same(1, self.device.prepare(self.models[1], cache_dir=self.folder).run(self.inputs[1]))

    def stream(self):
        """A stream, which keeps state."""
        self._same(0, self.prepared[0].stream().run(self.inputs[0]))

    def observe(self):
        """Under a profile, and explained."""
        with nnfast.profile() as profile:
            self.run()
        assert profile.rows and str(self.prepared[0].explain())

    def use_service(self):
        """The driver's process: a child has to connect again."""
        if os.getpid() == self.parent:
            self._same(0, self.served.run(self.inputs[0]))
            return
        try:
            self.served.run(self.inputs[0])
        except nnfast.DeadObject:
            return
        raise AssertionError("a child used its parent's connection")

    def collect(self):
        """Bursts in circles of references, for the collector."""
        circle = [self.prepared[0].burst()]
        circle.append(circle)
        del circle
        gc.collect()

    def ask(self):
        """What a device says of itself, and of models."""
        assert self.device.capabilities and self.device.version
        assert all(all(self.device.supported_operations(model)) for model in self.models)

    ALL = run, replan, submit, use_burst, execute, prepare, stream, observe, use_service, collect, ask


def work(objects, seed, stop, problems):
    """A thread of the parent: work of all kinds in any order."""
    chance = random.Random(seed)
    try:
        while not stop.is_set():
            chance.choice(Objects.ALL)(objects)
    except BaseException as error:
        problems.append(f"the parent, {type(error).__name__}: {error}")
        raise


def be_child(objects, seed):
    """All kinds of work once, in any order; the exit code."""
    faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
    kinds = list(Objects.ALL)
    random.Random(seed).shuffle(kinds)
    for kind in kinds:
        try:
            kind(objects)
        except BaseException as error:
            print(f"child {seed}, {kind.__name__}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            return 1
    return 0


def fork_children(objects, count, seed):
    """How many of the children failed."""
    chance, failed = random.Random(seed), 0
    for number in range(count):
        time.sleep(chance.random() * MOST_MS / 1000)
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                code = be_child(objects, seed * 1_000_003 + number)
            os._exit(code)
        status = os.waitpid(child, 0)[1]
        if status:
            failed += 1
            print(f"child {number} of {count} ended with status {status}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--children", type=int, default=50, metavar="N")
    parser.add_argument("--threads", type=int, default=4, metavar="N", help="of the parent, that work meanwhile")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Driver("--threads", "1") as driver:
        objects, stop, problems = Objects(folder, driver.path), threading.Event(), []
        workers = [threading.Thread(target=work, args=(objects, seed, stop, problems))
                   for seed in range(options.threads)]
        began = time.monotonic()
        for worker in workers:
            worker.start()
        failed = fork_children(objects, options.children, options.seed)
        stop.set()
        for worker in workers:
            worker.join()
        objects.remote.close()
    print(*problems, f"fork_children: {options.children} children beside {options.threads} working threads, {failed} "
          f"failed, in {time.monotonic() - began:.0f} s", sep="\n")
    return bool(failed or problems)


if __name__ == "__main__":
    sys.exit(main())
