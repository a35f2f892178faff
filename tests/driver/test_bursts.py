"""Bursts on a canonical prepared model: the caller's Controller, and what the native loop may and may not do."""

import gc
import os
import threading
import time

import numpy as np
import pytest

import nnfast
from helpers import models
from helpers.processes import fresh
from nnfast import Memory, ModelBuilder, Request, RequestArgument, fmq, observe, trace
from nnfast.driver import watchdog
from nnfast.driver.form import RequestForm
from nnfast.errors import GeneralFailure, InvalidArgument, OutputInsufficientSize

FLOAT, INT = "TENSOR_FLOAT32", "TENSOR_INT32"


def request(out=24):
    """x, z and then y of models.two_step_model, in one memory."""
    memory = Memory.create(128)
    memory.array()[:48].view(np.float32)[:] = np.arange(12)
    return Request((RequestArgument(0, 0, 24), RequestArgument(0, 24, 24)), (RequestArgument(0, 64, out),), (memory,))


def result(r):
    return r.pools[0].array()[64:88].view(np.float32)


def chosen_model():
    """y = x[indices], with an index of the caller's."""
    b = ModelBuilder("chosen")
    x, indices = b.input(FLOAT, (1000,)), b.input(INT, (64,))
    return b.operation("GATHER", [x, b.scalar(0), indices], [b.output(FLOAT, (64,))]).build()


def sorted_model():
    """places of the largest values, as an output, and the values of another tensor there."""
    b = ModelBuilder("sorted")
    x, other = b.input(FLOAT, (64, 100)), b.input(FLOAT, (100,))
    places, y = b.output(INT, (64,)), b.output(FLOAT, (64,))
    b.operation("ARGMAX", [x, b.scalar(1)], [places])
    return b.operation("GATHER", [other, b.scalar(0), places], [y]).build()


@pytest.fixture
def prepared(device):
    return device.prepare(models.two_step_model())


@pytest.fixture
def burst(prepared):
    with prepared.burst() as burst:
        yield burst


def context(burst):
    return burst._channel.context


WANTED = [6.0, 6, 6, 6, 6, 6]


# -- the caller's end --------------------------------------------------------------------------------------------------
def test_execute_is_as_without_a_burst(prepared, burst):
    r = request()
    for count in range(1, 4):
        assert burst.execute(r) == prepared.execute(r) and result(r).tolist() == WANTED
        timing = burst.execute(r, measure_timing=True).timing
        assert 0 <= timing.on_device_us <= timing.in_driver_us
        assert context(burst).runs == 2 * count and burst.fallbacks == 0


def test_a_success_forgets_the_reason_of_a_refusal(burst):
    r = request()
    for _ in range(2):
        with pytest.raises(InvalidArgument):
            burst.execute(Request(r.inputs[:1], r.outputs, r.pools))
        assert context(burst).last_error()
        burst.execute(r)
        assert context(burst).last_error() == ""


def test_run_is_as_without_a_burst(prepared, burst):
    rng = np.random.default_rng(1)
    for _ in range(5):
        inputs = [rng.standard_normal((2, 3), np.float32) for _ in range(2)]
        outputs = burst.run(inputs)
        assert np.array_equal(outputs[0], prepared.run(inputs)[0]) and outputs[0].flags.owndata
    assert context(burst).runs == 5 and burst.fallbacks == 0
    for wrong, words in ((inputs[:1], "got 1 input,"), ([inputs[0], inputs[1].astype(np.int32)], "input_1|z")):
        with pytest.raises(InvalidArgument, match=words):
            burst.run(wrong)


def test_run_takes_a_dict_as_without_a_burst(prepared, burst):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    inputs = {info.name: x for info in prepared.inputs}
    found, wanted = burst.run(inputs), prepared.run(inputs)
    assert list(found) == list(wanted) and all(np.array_equal(found[name], wanted[name]) for name in wanted)
    assert context(burst).runs == 1 and burst.fallbacks == 0
    with pytest.raises(InvalidArgument, match="^run input 'nobody': no such input"):
        burst.run({**inputs, "nobody": x})


def test_refusals_have_the_driver_s_reason(prepared, burst):
    r = request()
    for _ in range(2):
        with pytest.raises(InvalidArgument, match="^request inputs: got 1, must be 2$"):
            burst.execute(Request(r.inputs[:1], r.outputs, r.pools))
        with pytest.raises(OutputInsufficientSize, match="the buffer has 23 bytes, the result needs 24") as error:
            burst.execute(request(out=23))
        assert [(s.dims, s.is_sufficient) for s in error.value.shapes] == [((2, 3), False)]
        burst.execute(r)
    assert burst.fallbacks == 0


def test_what_no_packet_can_say_takes_the_normal_way(prepared, burst, device):
    plain = Request((RequestArgument(0, 0, 24), RequestArgument(0, 24, 24)), (RequestArgument(1, 0, 24),),
                    (np.arange(12, dtype=np.float32), bytearray(24)))
    burst.execute(plain)
    assert np.frombuffer(plain.pools[1], np.float32).tolist() == WANTED
    buffer = device.allocate(output_roles=[nnfast.Role(prepared, 0)])
    r = request()
    burst.execute(Request(r.inputs, (RequestArgument(1, 0, 0),), (*r.pools, buffer)))
    assert burst.fallbacks == 2
    for wrong in (None, Request((RequestArgument(0, -1, 24), r.inputs[1]), r.outputs, r.pools),
                  Request((RequestArgument(0, 0, 1 << 33), r.inputs[1]), r.outputs, r.pools)):
        with pytest.raises(InvalidArgument):
            burst.execute(wrong)
    assert burst.fallbacks == 5 and context(burst).runs == 0


def test_a_packet_longer_than_the_queue_takes_the_normal_way(prepared):
    with prepared.burst(capacity=5) as short:
        assert short.execute(request()).shapes and short.fallbacks == 1
    with prepared.burst(capacity=6) as just:
        assert just.execute(request()).shapes and just.fallbacks == 0


def test_after_its_end_a_burst_takes_the_normal_way(prepared):
    burst, r = prepared.burst(), request()
    burst.execute(r)
    burst.close()
    burst.close()
    assert not burst.is_alive() and burst.execute(r).shapes and burst.fallbacks == 1
    assert burst.run([np.zeros((2, 3), np.float32)] * 2)[0].shape == (2, 3) and burst.fallbacks == 2


def test_the_driver_s_end_closes_first(prepared):
    burst, r = prepared.burst(), request()
    burst.execute(r)
    context(burst).close()
    with pytest.raises(GeneralFailure, match="there is no answer"):
        burst.execute(r)
    assert burst.execute(r).shapes and not burst.is_alive()


def test_the_first_run_needs_no_python(prepared):
    x = np.ones((2, 3), np.float32)
    with prepared.burst() as burst:
        burst.run([x, x])
        assert context(burst).runs == 1


@pytest.mark.parametrize("memories", [[1], {-1: Memory.create(8)}, {1 << 31: Memory.create(8)},
                                      {True: Memory.create(8)}, {0: b"bytes"},
                                      dict.fromkeys(range(5000), Memory.create(8))])
def test_memories_to_begin_with(prepared, memories):
    queues = fmq.MessageQueue.create(fmq.REQUEST_DATUM, 64), fmq.MessageQueue.create(fmq.RESULT_DATUM, 64)
    with pytest.raises(InvalidArgument, match="burst memories: "):
        prepared.configure_burst(list, *queues, memories=memories)


def test_dropped_bursts_end(prepared):
    def of_bursts():
        return sum(thread.name == "nnfast-burst" for thread in threading.enumerate())

    before, latest = of_bursts(), time.monotonic() + 600
    for _ in range(20):
        prepared.burst().execute(request())
    gc.collect()
    while of_bursts() > before and time.monotonic() < latest:  # they end by themselves: who drops a burst joins nothing
        time.sleep(0.001)
    assert of_bursts() <= before


def test_memories_are_let_go(burst):
    known = len(context(burst)._memories)
    for _ in range(400):  # more than a burst may have at once
        burst.execute(request())
    r = request()
    burst.execute(r)
    assert len(context(burst)._memories) == known + 1
    assert burst.free(r.pools[0]) and not burst.free(r.pools[0]) and len(context(burst)._memories) == known
    assert burst.execute(r).shapes


def test_many_threads_share_a_burst(burst, prepared):
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(40):
            inputs = [rng.standard_normal((2, 3), np.float32) for _ in range(2)]
            if not np.array_equal(burst.run(inputs)[0], prepared.run(inputs)[0]):
                failures.append(seed)
            r = request()
            burst.execute(r)
            if result(r).tolist() != WANTED:
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert not failures and burst.fallbacks == 0


@pytest.mark.parametrize("bad", [-1, 0.5, True, "x"])
def test_windows_that_are_none(prepared, bad):
    with pytest.raises(InvalidArgument, match="burst spin_us: is "):
        prepared.burst(spin_us=bad)
    with pytest.raises(InvalidArgument, match="burst spin_us: is "):
        queues = [nnfast.fmq.MessageQueue.create(d, 8) for d in (nnfast.fmq.REQUEST_DATUM, nnfast.fmq.RESULT_DATUM)]
        prepared.configure_burst(list, *(queue.descriptor for queue in queues), spin_us=bad)


# -- models of every sort ----------------------------------------------------------------------------------------------
def test_models_that_are_planned_at_execution(device):
    prepared = device.prepare(models.reshape_model())
    with prepared.burst() as burst:
        for shape in ([3, 4], [4, 3], [2, -1]):
            inputs = [np.arange(12, dtype=np.float32).reshape(2, 6), np.array(shape, np.int32)]
            assert np.array_equal(burst.run(inputs)[0], prepared.run(inputs)[0])
            memory = Memory.create(256)
            memory.array()[:48] = inputs[0].reshape(-1).view(np.uint8)
            memory.array()[64:72] = inputs[1].view(np.uint8)
            r = Request((RequestArgument(0, 0, 48), RequestArgument(0, 64, 8)), (RequestArgument(0, 128, 48),),
                        (memory,))
            assert burst.execute(r).shapes[0].dims == prepared.run(inputs)[0].shape
            assert memory.array()[128:176].view(np.float32).tolist() == list(range(12))
        assert burst.fallbacks == 3 and context(burst).runs == 0  # those of run


def test_models_with_states_and_kept_operands(device):
    counter = device.prepare(models.counter_model())
    with counter.burst() as burst:
        x = np.ones(3, np.float32)
        assert burst.run([x])[0].tolist() == burst.run([x])[0].tolist() == [1, 1, 1]
        assert burst.fallbacks == 2
    kept = device.prepare(models.two_step_model(), keep=["sum"])
    with kept.burst() as burst:
        assert len(burst.run([np.ones((2, 3), np.float32)] * 2)) == 2
        r = request()
        assert len(burst.execute(r).shapes) == 1 and result(r).tolist() == WANTED


def test_open_batches(device):
    prepared = device.prepare(models.conv_model(batch=0))
    with prepared.burst() as burst:
        for batch in (1, 3):
            x = np.random.default_rng(batch).standard_normal((batch, 5, 5, 2), np.float32)
            assert np.array_equal(burst.run([x])[0], prepared.run([x])[0])


# -- the driver's end --------------------------------------------------------------------------------------------------
def test_indices_are_copied_before_they_are_used(device):
    """Somebody writes nonsense over the indices all the time: values may be any, but nothing is read out of bounds."""
    prepared = device.prepare(chosen_model())
    memory = Memory.create(8192)
    indices = memory.array()[4096:4352].view(np.int32)
    r = Request((RequestArgument(0, 0, 4000), RequestArgument(0, 4096, 256)), (RequestArgument(0, 6144, 256),),
                (memory,))
    stop = threading.Event()

    def scribble():
        while not stop.is_set():
            indices[:] = 0x7FFFFFFF
            indices[:] = 5

    thread = threading.Thread(target=scribble)
    with prepared.burst(spin_us=50) as burst:
        burst.execute(r)
        thread.start()
        outcomes = set()
        for _ in range(2000):
            try:
                burst.execute(r)
                outcomes.add("done")
            except GeneralFailure:
                outcomes.add("refused")
        stop.set()
        thread.join()
        assert outcomes and context(burst).is_alive()
        indices[:] = 7
        burst.execute(r)


def test_outputs_that_are_read_back_are_computed_in_private(device):
    prepared = device.prepare(sorted_model())
    assert prepared.executor.form.read_back == {prepared.model.main.outputs[0]}
    memory = Memory.create(1 << 16)
    rng = np.random.default_rng(2)
    x, other = rng.standard_normal((64, 100)).astype(np.float32), rng.standard_normal(100).astype(np.float32)
    memory.array()[:25600].view(np.float32)[:] = x.ravel()
    memory.array()[25600:26000].view(np.float32)[:] = other
    r = Request((RequestArgument(0, 0, 25600), RequestArgument(0, 25600, 400)),
                (RequestArgument(0, 32768, 256), RequestArgument(0, 40960, 256)), (memory,))
    places, values = memory.array()[32768:33024].view(np.int32), memory.array()[40960:41216].view(np.float32)
    stop = threading.Event()

    def scribble():
        while not stop.is_set():
            places[:] = 0x7FFFFFFF

    thread = threading.Thread(target=scribble)
    with prepared.burst() as burst:
        thread.start()
        for execute in (burst.execute, prepared.execute):
            for _ in range(200):
                execute(r)
                assert (values == other[x.argmax(1)]).all()
        stop.set()
        thread.join()
        burst.execute(r)
        assert (places == x.argmax(1)).all() and burst.fallbacks == 0


def test_which_outputs_are_read_back(device):
    assert not RequestForm(models.two_step_model().main).read_back and not RequestForm(chosen_model().main).read_back
    b = ModelBuilder("shaped")  # INT32 all along, and one of them is read
    x, total, y = b.input(INT, (4,)), b.output(INT, (4,)), b.output(INT, (4,))
    b.operation("ADD", [x, x, b.scalar(0)], [total])
    graph = b.operation("MUL", [total, x, b.scalar(0)], [y]).build().main
    assert RequestForm(graph).read_back == set(graph.outputs)


def test_traces_and_log_lines_see_executions(burst, prepared, caplog):
    r = request()
    burst.execute(r)
    burst.execute(r)
    assert context(burst).runs == 2
    with trace.record() as recorder:
        burst.execute(r)
    names = [event[0] for event in recorder.events]
    assert {"[NN_LI_PE]burst", "[NN_LD_PE]burst"} <= set(names) and context(burst).runs == 2
    burst.execute(r)
    assert context(burst).runs == 3 and observe.watchers == 0


def test_idle_memory_is_given_back_and_taken_again(device, prepared):
    with prepared.burst() as burst:
        r = request()
        for runs in (1, 2):
            burst.execute(r)
            burst.execute(r)
            assert context(burst).runs == 2 * runs and not context(burst)._server.needs_frame
            watchdog.sweep()
            watchdog.sweep()
            assert context(burst)._server.needs_frame


def test_working_memory_that_the_budget_does_not_allow():
    device = nnfast.Device(num_threads=1, memory_limit=1 << 20)
    prepared, x = device.prepare(models.wide_model(steps=2, size=16)), np.ones((1, 16, 16, 16), np.float32)

    class Hog:
        """Holds what is left of the budget."""

    with prepared.burst() as burst:
        hog = Hog()
        prepared.release_idle()
        device.budget.take(device.budget.limit - device.budget.used, hog, "hog")
        for _ in range(2):
            with pytest.raises(GeneralFailure, match="working memory: needs"):  # RESOURCE_EXHAUSTED_* came with 1.3
                burst.run([x])
        del hog
        assert np.array_equal(burst.run([x])[0], prepared.run([x])[0]) and burst.fallbacks == 0


def test_bursts_of_one_model_run_at_once(prepared):
    bursts = [prepared.burst() for _ in range(4)]
    requests = [request() for _ in bursts]

    def work(burst, r):
        for _ in range(100):
            burst.execute(r)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(bursts, requests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert all(result(r).tolist() == WANTED for r in requests)
    for burst in bursts:
        assert context(burst).runs == 100 and burst.fallbacks == 0
        burst.close()


def test_a_waiting_call_can_be_interrupted(device):
    """Signals are looked at while the driver takes its time; the burst is of no use afterwards."""
    import signal

    prepared = device.prepare(models.two_step_model())
    queue_alive = prepared.burst()
    go_on = threading.Event()

    def slow(slots):
        os.kill(os.getpid(), signal.SIGALRM)  # the call waits for its answer now
        go_on.wait()
        return []

    context(queue_alive)._get_memories = slow

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            queue_alive.execute(request())
    finally:
        signal.signal(signal.SIGALRM, before)
        go_on.set()
    assert queue_alive.execute(request()).shapes


def test_the_process_ends_with_bursts_open(tmp_path):
    """No hang at exit, whatever the burst's thread is doing."""
    script = ("import nnfast, numpy as np\n"
              "from helpers import models\n"
              "p = nnfast.Device(num_threads=1).prepare(models.two_step_model())\n"
              "bursts = [p.burst(spin_us=0) for _ in range(3)]\n"
              "print(bursts[0].run([np.ones((2, 3), np.float32)] * 2)[0].sum())\n")
    assert fresh(script) == "12.0"
