"""PreparedModel: running, refusing, keeping, resizing, pickling."""

import pickle
import threading

import numpy as np
import pytest

import nnfast
from helpers import models
from nnfast import Request
from nnfast.driver.submit import CancelledError
from nnfast.errors import InvalidArgument, MissedDeadlineTransient


def conv_reference(model, x):
    """The convolution in float64, tap by tap."""
    operands = model.main.operands
    w, bias = (operands[i].data.astype(np.float64) for i in model.main.operations[0].inputs[1:3])
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = np.zeros((*x.shape[:3], 4)) + bias
    for i in range(3):
        for j in range(3):
            y += padded[:, i:i + x.shape[1], j:j + x.shape[2]] @ w[:, i, j].T
    return np.maximum(y, 0)


def sample(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def test_run_takes_lists_and_dicts(device):
    model = models.conv_model()
    prepared = device.prepare(model)
    x = sample((1, 5, 5, 2))
    y, = prepared.run([x])
    np.testing.assert_allclose(y, conv_reference(model, x), rtol=1e-5, atol=1e-5)
    named = prepared.run({"x": x})
    assert list(named) == ["y"]
    assert np.array_equal(named["y"], y)


def test_run_writes_into_out(device):
    prepared = device.prepare(models.conv_model())
    x, out = sample((1, 5, 5, 2)), np.full((1, 5, 5, 4), np.nan, np.float32)
    results = prepared.run([x], out=[out])
    assert results[0] is out
    assert np.array_equal(out, prepared.run([x])[0])


def test_large_results_begin_at_a_cache_line(device):
    """Wherever the allocator puts them: the same model takes the same time in each process."""
    kept = []
    for side in (4, 64, 65, 200):
        prepared = device.prepare(models.wide_model(1, side))
        x = sample((1, side, side, 16))
        for _ in range(5):
            y, = prepared.run([x])
            assert y.ctypes.data % 64 == 0 or y.nbytes < 1 << 14
            assert y.flags.writeable and y.flags.c_contiguous and y.flags.aligned
            kept += [y, y.copy(), np.empty(side * 100, np.uint8)]
        assert np.array_equal(kept[-3], kept[-6]) and np.array_equal(kept[-3], kept[-2])


@pytest.mark.parametrize(("array", "text"), [
    (np.zeros((1, 5, 5, 2)), "run input 'x': dtype is float64, must be float32"),
    (np.zeros((1, 5, 4, 2), np.float32), "run input 'x': shape is [1, 5, 4, 2], must be [1, 5, 5, 2]"),
    (np.zeros((5, 5, 2), np.float32), "must be [1, 5, 5, 2]"),
    (np.zeros((1, 5, 5, 2), ">f4"), "with swapped bytes, must be float32"),
    ([[0.0]], "run input 'x': is a list, must be a numpy array of dtype float32"),
    (None, "main.operation[0] CONV_2D input 0 (input): is omitted, must have a value"),
])
def test_bad_inputs_are_named(device, array, text):
    prepared = device.prepare(models.conv_model())
    with pytest.raises(InvalidArgument) as error:
        prepared.run([array])
    assert text in str(error.value)
    assert "\n" not in str(error.value)
    prepared.run([sample((1, 5, 5, 2))])


def test_bad_counts_and_names(device):
    prepared = device.prepare(models.two_step_model())
    x = sample((2, 3))
    with pytest.raises(InvalidArgument, match=r"got 1 input, must be 2 \(x, z\)"):
        prepared.run([x])
    with pytest.raises(InvalidArgument, match="input 'w': no such input; there are 'x', 'z'"):
        prepared.run({"x": x, "z": x, "w": x})
    with pytest.raises(InvalidArgument, match="input 'z': is missing"):
        prepared.run({"x": x})
    with pytest.raises(InvalidArgument, match="got 2 output arrays, must be 1"):
        prepared.run([x, x], out=[x.copy(), x.copy()])


@pytest.mark.parametrize("given, text", [
    (None, "inputs is None, must be a list of arrays in model order"), (3, "inputs is an int"),
    (sample((1, 5, 5, 2)), "inputs is an ndarray, must be a list of arrays in model order; pass [x]"),
])
def test_inputs_that_are_no_list(device, given, text):
    prepared = device.prepare(models.conv_model())
    for call, name in ((prepared.run, "run"), (prepared.stream().run, "stream.run"), (prepared.burst().run, "run"),
                       (lambda x: prepared.submit(x).result(), "submit")):
        with pytest.raises(InvalidArgument) as error:
            call(given)
        assert str(error.value).startswith(f"{name}: ") and text in str(error.value)


@pytest.mark.parametrize("options, text", [
    ({"input_shapes": [(4, 8, 8, 2)]}, "input_shapes: is a list, must be a dict of shapes by name or position"),
    ({"input_shapes": {"x": "4882"}}, "input_shapes['x']: is '4882', must be positive dimensions"),
    ({"input_shapes": {"x": (4, 8.5, 8, 2)}}, "input_shapes['x']: is (4, 8.5, 8, 2), must be positive dimensions"),
    ({"input_shapes": {"x": 4}}, "input_shapes['x']: is 4, must be positive dimensions"),
    ({"input_shapes": {1.5: (4, 8, 8, 2)}}, "input_shapes: key 1.5 must be a name or a whole number"),
    ({"input_shapes": {7: (4, 8, 8, 2)}}, "no input 7; there are 'x'"),
    ({"keep": [2.5]}, "prepare keep: 2.5 must be a name or a whole number"),
    ({"keep": "sum"}, "prepare keep: is a str, must be a list of names or operand indexes"),
    ({"keep": [True]}, "prepare keep: True must be"),
    ({"deadline": "soon"}, "prepare deadline: is 'soon', must be seconds of time.monotonic() or None"),
])
def test_odd_options_of_prepare(device, options, text):
    with pytest.raises(InvalidArgument) as error:
        device.prepare(models.conv_model(), **options)
    assert text in str(error.value)


def test_odd_durations(device):
    prepared, request = device.prepare(models.conv_model()), Request((), (), ())
    for value in ("1", True, -1, 0, float("nan")):
        with pytest.raises(InvalidArgument, match="submit timeout: is .*, must be positive seconds or None"):
            prepared.submit([sample((1, 5, 5, 2))], timeout=value)
        with pytest.raises(InvalidArgument, match="execute_fenced duration: is "):
            prepared.execute_fenced(request, duration=value)
        with pytest.raises(InvalidArgument, match="execute loop_timeout: is "):
            prepared.execute_fenced(request, loop_timeout=value)
    with pytest.raises(InvalidArgument, match="execute_fenced deadline: is '1'"):
        prepared.execute_fenced(request, deadline="1")


def test_bad_out_arrays(device):
    prepared = device.prepare(models.two_step_model())
    x = sample((2, 3))
    with pytest.raises(InvalidArgument, match="output 'y': shares memory"):
        prepared.run([x, x], out=[x])
    frozen = np.zeros((2, 3), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(InvalidArgument, match="output 'y': the array is read-only"):
        prepared.run([x, x], out=[frozen])
    with pytest.raises(InvalidArgument, match=r"output 'y': shape is \[3, 2\], must be \[2, 3\]"):
        prepared.run([x, x], out=[np.zeros((3, 2), np.float32)])


def test_keep_returns_intermediates_behind_the_outputs(device):
    prepared = device.prepare(models.two_step_model(), keep=["sum"])
    x, z = sample((2, 3), 1) * 9, sample((2, 3), 2) * 9
    y, total = prepared.run([x, z])
    assert np.array_equal(total, x + z)
    assert np.array_equal(y, np.clip(x + z, 0, 6))
    with pytest.raises(InvalidArgument, match="no operands are named 'nothing'"):
        device.prepare(models.two_step_model(), keep=["nothing"])


def test_unknown_dimensions_are_planned_at_run(device):
    prepared = device.prepare(models.conv_model(batch=0))
    assert prepared.inputs[0].shape == (None, 5, 5, 2)
    fixed = device.prepare(models.conv_model(batch=1))
    for batch in (1, 3, 2, 3):
        x = sample((batch, 5, 5, 2), batch)
        y, = prepared.run([x])
        assert y.shape == (batch, 5, 5, 4)
        assert np.array_equal(y[:1], fixed.run([x[:1]])[0])
    with pytest.raises(InvalidArgument, match=r"must be \[\?, 5, 5, 2\]"):
        prepared.run([sample((2, 4, 5, 2))])


def test_shape_from_a_model_input(device):
    prepared = device.prepare(models.reshape_model())
    x = sample((2, 6))
    for shape in ((3, 4), (12, 1), (-1, 2), (3, 4)):
        y, = prepared.run([x, np.array(shape, np.int32)])
        assert np.array_equal(y, np.maximum(x.reshape(shape), 0))
    with pytest.raises(InvalidArgument, match=r"main.operation\[0\] RESHAPE"):
        prepared.run([x, np.array([5, 5], np.int32)])
    assert prepared.run([x, np.array([4, 3], np.int32)])[0].shape == (4, 3)


def test_input_shapes_resize(device):
    prepared = device.prepare(models.conv_model(), input_shapes={"x": (4, 8, 8, 2)})
    x = sample((4, 8, 8, 2))
    np.testing.assert_allclose(prepared.run([x])[0], conv_reference(models.conv_model(), x), rtol=1e-5, atol=1e-5)
    with pytest.raises(InvalidArgument, match=r"input_shapes\['x'\]: is \[4, 8\], must be 4 positive dimensions"):
        device.prepare(models.conv_model(), input_shapes={"x": (4, 8)})
    with pytest.raises(InvalidArgument, match="no input 'q'; there are 'x'"):
        device.prepare(models.conv_model(), input_shapes={"q": (1,)})


def test_stream_carries_state_and_run_does_not(device):
    prepared = device.prepare(models.counter_model())
    assert [i.name for i in prepared.inputs] == ["x"]
    assert [o.name for o in prepared.outputs] == ["y"]
    one = np.ones(3, np.float32)
    stream, other = prepared.stream(), prepared.stream()
    assert [stream.run([one])[0][0] for _ in range(4)] == [1, 2, 3, 4]
    assert other.run([one])[0][0] == 1
    assert [prepared.run([one])[0][0] for _ in range(2)] == [1, 1]
    with pytest.raises(InvalidArgument):
        stream.run([np.ones(4, np.float32)])
    assert stream.run([one])[0][0] == 5
    stream.reset()
    assert stream.run([one])[0][0] == 1


def test_many_threads_share_one_prepared_model(device):
    prepared = device.prepare(models.conv_model(size=32))
    inputs = [sample((1, 32, 32, 2), seed) for seed in range(4)]
    wanted = [prepared.run([x])[0] for x in inputs]
    wrong = []

    def client(x, y):
        for _ in range(50):
            if not np.array_equal(prepared.run([x])[0], y):
                wrong.append(1)

    threads = [threading.Thread(target=client, args=pair) for pair in zip(inputs, wanted)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_one_and_two_threads_give_the_same_bits():
    x = sample((1, 48, 48, 16))
    results = [nnfast.Device(n).prepare(models.wide_model(3, 48)).run([x])[0] for n in (1, 2)]
    assert np.array_equal(*results)


def test_pickle_round_trip(device):
    prepared = pickle.loads(pickle.dumps(device.prepare(models.conv_model())))
    x = sample((1, 5, 5, 2))
    assert np.array_equal(prepared.run([x])[0], device.prepare(models.conv_model()).run([x])[0])


def test_submit_takes_a_dict_as_run_does(device):
    prepared, x = device.prepare(models.conv_model()), sample((1, 5, 5, 2))
    inputs = {prepared.inputs[0].name: x}
    found, wanted = prepared.submit(inputs).result(), prepared.run(inputs)
    assert list(found) == list(wanted) and all(np.array_equal(found[name], wanted[name]) for name in wanted)
    with pytest.raises(InvalidArgument, match="^run input 'nobody': no such input"):
        prepared.submit({"nobody": x}).result()


def test_submit_delivers_times_out_and_cancels(device):
    prepared = device.prepare(models.wide_model())
    x = sample((1, 128, 128, 16))
    future = prepared.submit([x])
    assert np.array_equal(future.result()[0], prepared.run([x])[0])
    assert future.timing.in_driver_us > 0
    with pytest.raises(MissedDeadlineTransient, match="deadline passed"):
        prepared.submit([x], timeout=0.001).result()
    running = prepared.submit([x])
    while not running.cancel():  # it has ended already
        running = prepared.submit([x])
    with pytest.raises(CancelledError):
        running.result()
    with pytest.raises(InvalidArgument, match="must be positive"):
        prepared.submit([x], timeout=0)
    prepared.run([x])


def test_profile_times_every_operation(device):
    prepared = device.prepare(models.two_step_model())
    x = sample((2, 3))
    with nnfast.profile() as p:
        for _ in range(3):
            prepared.run([x, x])
    assert [(r["operation"], r["calls"]) for r in p.rows] == [("ADD", 3), ("RELU6", 3)]
    assert all(r["ns"] > 0 for r in p.rows)
    assert "RELU6" in str(p)
    assert '"traceEvents"' in p.chrome_trace()


def test_device_arguments():
    for bad in (0, -1, 1.5, "2", True, 1000):
        with pytest.raises(InvalidArgument, match="Device num_threads"):
            nnfast.Device(bad)
    device = nnfast.Device(1)
    with pytest.raises(InvalidArgument, match="must be an nnfast.Model; nnfast.load reads a file"):
        device.prepare("model.tflite")
    with pytest.raises(InvalidArgument, match="prepare priority: is 'urgent'"):
        device.prepare(models.conv_model(), priority="urgent")
