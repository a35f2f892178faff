"""Clients that share the cores: nobody is starved by one that asks for more, and what waits can still be ended."""

import threading
import time

import numpy as np
import pytest

from nnfast import Client, Device, ModelBuilder, Request, RequestArgument
from nnfast._native import threads as native
from nnfast.errors import MissedDeadlinePersistent, MissedDeadlineTransient

HANG_SECONDS = 300
TRIES = 10
"""A share of the cores, or an order, that the system may spoil on a busy machine, is looked for so often."""

MANY_TRIES = 200
"""Likewise for an order that one thread spoils which gets no processor for 5 ms."""


def steps_model(count, size):
    """`count` additions in a row, each a step."""
    b = ModelBuilder()
    x = b.input("TENSOR_FLOAT32", (size, size))
    w = b.constant(np.eye(size, dtype=np.float32))
    bias = b.constant(np.zeros(size, np.float32))
    none = b.scalar(0)
    for step in range(count):
        y = b.output("TENSOR_FLOAT32", (size, size)) if step == count - 1 else b.operand("TENSOR_FLOAT32", (size, size))
        b.operation("FULLY_CONNECTED", [x, w, bias, none], [y])
        x = y
    return b.build()


@pytest.fixture
def clients():
    """Two devices of one thread that share one core, with a model of many steps of some 100 us each."""
    fair, result = native.Fair(1), []
    for _ in range(2):
        device = Device(num_threads=1, client=Client())
        device.gate.join(fair)
        result.append((device, device.prepare(steps_model(20, 128))))
    return result


def flood(prepared, stop, results):
    x = np.random.default_rng(1).standard_normal((128, 128)).astype(np.float32)
    while not stop.is_set():
        results.append(np.array_equal(prepared.run([x])[0], x))


def run_for(seconds, *loads):
    """Run `flood` on prepared models, one thread for each mention; results right?"""
    stop, results = threading.Event(), []
    workers = [threading.Thread(target=flood, args=(prepared, stop, results)) for prepared in loads]
    for worker in workers:
        worker.start()
    time.sleep(seconds)
    stop.set()
    for worker in workers:
        worker.join(HANG_SECONDS)
    assert not any(worker.is_alive() for worker in workers)
    return results


def share_of(device, other, seconds, *loads):
    """What a device gets of the core time of two, while `loads` run."""
    before = device.gate.used_ns, other.gate.used_ns
    results = run_for(seconds, *loads)
    assert results and all(results)
    used = device.gate.used_ns - before[0], other.gate.used_ns - before[1]
    return used[0] / sum(used)


def test_a_client_that_floods_gets_no_more_than_its_share(clients):
    """One of seven threads gets about half of the core: its client's. A seventh would be its share without turns.

    Where the one whose turn it is waits for a core itself, others go first: on a busy machine its part is smaller.
    """
    (greedy, many), (modest, one) = clients
    shares = []
    while len(shares) < TRIES and not (shares and 0.3 < shares[-1] < 0.7):
        shares.append(share_of(modest, greedy, 1.0, *[many] * 6, one))
    assert max(shares) > 0.2 and shares[-1] < 0.7, shares


def test_a_client_alone_gets_everything(clients):
    (device, prepared), (other, _) = clients
    results = run_for(0.2, prepared)
    assert results and all(results)
    assert device.gate.used_ns > 0.05e9 and other.gate.used_ns == 0


def test_idling_saves_nothing_up(clients):
    """A client that comes back shares from then on; it is not first until it has caught up."""
    (first, early), (second, late) = clients
    shares = []
    while len(shares) < TRIES and not (shares and shares[-1] < 0.8):
        run_for(0.6, early)
        shares.append(share_of(second, first, 0.6, early, late))
    assert shares[-1] < 0.8, f"the one that idled got these shares of the core: {shares}"


def product_model(size):
    """One step of some 100 ms."""
    b = ModelBuilder()
    x, y = b.input("TENSOR_FLOAT32", (size, size)), b.output("TENSOR_FLOAT32", (size, size))
    b.operation("FULLY_CONNECTED", [x, b.constant(np.eye(size, dtype=np.float32)),
                                    b.constant(np.zeros(size, np.float32)), b.scalar(0)], [y])
    return b.build()


def test_a_long_step_stops_in_the_middle_for_another_client():
    """It has left the only core when the other one runs; nobody has waited until the system divides it."""
    fair, device, other = native.Fair(1), Device(num_threads=1, client=Client()), native.Gate(1)
    device.gate.join(fair)
    other.join(fair)
    prepared, size = device.prepare(product_model(2048)), 2048
    x = np.random.default_rng(2).standard_normal((size, size)).astype(np.float32)
    seen, results = [], []
    for _ in range(TRIES):
        worker = threading.Thread(target=lambda: results.append(prepared.run([x])[0]))
        worker.start()
        while worker.is_alive() and not fair.running:
            time.sleep(0.0002)
        while worker.is_alive():
            with native.Turn(other, 1).use():
                if worker.is_alive():
                    seen.append(fair.running)
        worker.join(HANG_SECONDS)
        if 1 in seen:
            break
    assert 1 in seen, f"threads that ran at once: {seen}"
    assert all(np.array_equal(result, x) for result in results) and fair.running == fair.waiting == 0


def test_a_run_takes_the_cores_that_are_free():
    """One of two is in use: a run that wants both has the other one, and never more than there are."""
    fair, device, other = native.Fair(2), Device(num_threads=2, client=Client()), native.Gate(2)
    device.gate.join(fair)
    other.join(fair)
    prepared, results, seen = device.prepare(steps_model(50, 128)), [], []
    x = np.random.default_rng(3).standard_normal((128, 128)).astype(np.float32)
    with native.Turn(other, 1).use():
        while 2 not in seen and len(results) < 10 * TRIES:
            worker = threading.Thread(target=lambda: results.append(prepared.run([x])[0]))
            worker.start()
            while worker.is_alive():
                seen.append(fair.running)
            worker.join(HANG_SECONDS)
    assert max(seen) == 2 and fair.running == 0
    assert all(np.array_equal(result, x) for result in results)


def test_a_deadline_ends_the_wait(clients):
    (_, busy), (_, prepared) = clients
    x = np.ones((128, 128), np.float32)
    request = Request((RequestArgument(0, 0, x.nbytes),), (RequestArgument(1, 0, x.nbytes),), (x, np.empty_like(x)))
    prepared.execute(request)
    stop, results = threading.Event(), []
    workers = [threading.Thread(target=flood, args=(busy, stop, results)) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        missed = 0
        for _ in range(50):
            began = time.monotonic()
            try:
                prepared.execute(request, deadline=began + 0.0005)
            except (MissedDeadlineTransient, MissedDeadlinePersistent):
                missed += 1
        assert missed
    finally:
        stop.set()
        for worker in workers:
            worker.join(HANG_SECONDS)
    prepared.execute(request, deadline=time.monotonic() + 600)
    assert np.array_equal(request.pools[1], x)


def test_one_gate_joins_once():
    gate, fair = native.Gate(1), native.Fair(2)
    gate.join(fair)
    with pytest.raises(ValueError, match="joined"):
        gate.join(fair)
    with pytest.raises(ValueError, match="capacity"):
        native.Fair(0)


def test_numpy_steps_take_their_turn(clients):
    """What no kernel runs shares the cores as well, and says what it used."""
    (first, _), (second, _) = clients
    turn, other = native.Turn(first.gate, 1), native.Turn(second.gate, 1)
    with turn.use():
        waiting = threading.Thread(target=lambda: other.use().__enter__().__exit__())
        waiting.start()
        while not first.gate.fair.waiting and waiting.is_alive():  # it waits for 5 ms at most: nobody may see it
            time.sleep(0.0002)
    waiting.join(HANG_SECONDS)
    assert not waiting.is_alive() and first.gate.used_ns > 0 and second.gate.used_ns > 0


def in_line(fair, turn, name, order, workers, seconds=0):
    """One more that waits for its turn, and uses it for so long."""
    def work():
        with turn.use():
            order.append(name)
            time.sleep(seconds)

    workers.append(threading.Thread(target=work))
    workers[-1].start()
    while fair.waiting + len(order) < len(workers):
        time.sleep(0.0005)


def order_of_five():
    """Who went when, of five that wait at the same time."""
    fair, (greedy, modest) = native.Fair(1), (native.Gate(1), native.Gate(1))
    greedy.join(fair)
    modest.join(fair)
    with native.Turn(greedy, 1).use():
        time.sleep(0.02)
    order, workers = [], []
    with native.Turn(modest, 1).use():
        pass  # it has been seen, so that nothing is taken from it for coming late
    with native.Turn(greedy, 1).use():
        for name in ("greedy 1", "greedy 2"):
            in_line(fair, native.Turn(greedy, 1), name, order, workers)
        for name, priority in (("low", 0), ("high", 2), ("medium", 1)):
            in_line(fair, native.Turn(modest, priority), name, order, workers)
    for worker in workers:
        worker.join(HANG_SECONDS)
    assert fair.running == fair.waiting == 0 and len(order) == 5
    return order


def test_the_client_with_the_least_time_goes_next_and_its_most_urgent_first():
    """Unless this thread gets no processor for 5 ms: then the system divides them, and the first of modest goes."""
    wanted = ["high", "medium", "low", "greedy 1", "greedy 2"]
    assert any(order_of_five() == wanted for _ in range(MANY_TRIES))


def order_after_idle_times():
    """Who goes first of two that have used the only core alone, "long" for longer than "short"."""
    fair, gates = native.Fair(1), {name: native.Gate(1) for name in ("long", "short", "other")}
    for gate in gates.values():
        gate.join(fair)
    for name, seconds in (*[("long", 0.02)] * 10, ("short", 0.03), ("short", 0.06)):
        with native.Turn(gates[name], 1).use():
            time.sleep(seconds)
    order, workers = [], []
    with native.Turn(gates["other"], 1).use():
        for name in ("short", "long"):
            in_line(fair, native.Turn(gates[name], 1), name, order, workers)
    for worker in workers:
        worker.join(HANG_SECONDS)
    return order


def test_who_used_idle_cores_pays_little_back():
    """200 ms and 90 ms alone: the one is as far ahead as the other when both want the core, but for what came last."""
    assert any(order_after_idle_times() == ["long", "short"] for _ in range(MANY_TRIES))


def turns_of_a_newcomer():
    """Turns of 3 ms that a client which has done nothing yet gets before one that has used the idle core for 60 ms: all
    want it at the same time."""
    fair, (known, newcomer) = native.Fair(1), (native.Gate(1), native.Gate(1))
    known.join(fair)
    newcomer.join(fair)
    with native.Turn(known, 1).use():
        time.sleep(0.06)
    order, workers = [], []
    with native.Turn(newcomer, 1).use():
        in_line(fair, native.Turn(known, 1), "known", order, workers)
        for _ in range(20):
            in_line(fair, native.Turn(newcomer, 1), "newcomer", order, workers, seconds=0.003)
    for worker in workers:
        worker.join(HANG_SECONDS)
    return order.index("known")


def test_a_newcomer_is_not_far_ahead():
    """Clients in numbers, each new, would keep one for long that was alone before."""
    assert any(turns_of_a_newcomer() <= 4 for _ in range(MANY_TRIES))


def test_nobody_waits_long_for_what_cannot_be_stopped():
    """A step of numpy, or a preparation, has the only core for long: the system divides it then."""
    fair, (greedy, modest) = native.Fair(1), (native.Gate(1), native.Gate(1))
    greedy.join(fair)
    modest.join(fair)
    with native.Turn(greedy, 2).use():
        began = time.monotonic()
        with native.Turn(modest, 0).use():
            assert 0.005 < time.monotonic() - began and fair.running == 2
    assert fair.running == 0
