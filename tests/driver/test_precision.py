"""Device(precision="bf16"): what it changes, what it leaves alone, and what it tells."""

import json
import pickle

import numpy as np
import pytest

import nnfast
from helpers import models
from helpers.caches import TOKEN, files_in
from helpers.steps import BF16_LEVELS
from nnfast._native import conv, kernels
from nnfast.errors import GeneralFailure, InvalidArgument

FLOAT = "TENSOR_FLOAT32"
X = np.random.default_rng(1).standard_normal((1, 24, 24, 32), np.float32)

needs_bf16 = pytest.mark.skipif(not conv.bf16_available(), reason="this machine multiplies no bfloat16")


@pytest.fixture(autouse=True)
def own_level():
    yield
    kernels.set_level(None)


def weights(*shape):
    return (np.random.default_rng(2).standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)


def net(kind=FLOAT):
    """3x3, depthwise and pointwise convolution and a fully connected layer."""
    dtype = np.float32 if kind == FLOAT else np.float16
    b = nnfast.ModelBuilder("net")
    one, none = b.scalar(1), b.scalar(0)
    x = b.input(kind, X.shape, name="x")
    for name, shape, extra in (("CONV_2D", (48, 3, 3, 32), ()), ("DEPTHWISE_CONV_2D", (1, 3, 3, 48), (one,)),
                               ("CONV_2D", (40, 1, 1, 48), ())):
        units = shape[-1] if extra else shape[0]
        w, bias = b.constant(weights(*shape).astype(dtype)), b.constant(np.zeros(units, dtype))
        y = b.operand(kind, (1, 24, 24, units))
        b.operation(name, [x, w, bias, one, one, one, *extra, one], [y])
        x = y
    w, bias = b.constant(weights(10, 24 * 24 * 40).astype(dtype)), b.constant(np.zeros(10, dtype))
    b.operation("FULLY_CONNECTED", [x, w, bias, none], [b.output(kind, (1, 10), name="y")])
    return b.build()


def kernels_of(prepared):
    return [row["kernel"] for row in prepared.explain().rows]


@pytest.mark.parametrize("bad", ["fp8", "BF16", "", b"bf16", 16, True])
def test_other_names_are_refused(bad):
    with pytest.raises(InvalidArgument, match=r"Device precision: is .*, must be None or one of bf16"):
        nnfast.Device(precision=bad)


@needs_bf16
def test_it_runs_where_it_is_asked_for_and_says_so():
    exact, asked = (nnfast.Device(2, precision=p).prepare(net()) for p in (None, "bf16"))
    assert not any("bf16" in kernel for kernel in kernels_of(exact))
    assert [row["bf16"] for row in asked.explain().rows] == [True, False, True, True]
    wanted, found = exact.run([X])[0], asked.run([X])[0]
    difference = abs(wanted - found).max() / abs(wanted).max()
    assert 0 < difference < 2.0**-6
    assert "precision bf16 asked for: 3 of 4 operations multiply in it" in str(asked.explain())
    assert "bf16" not in str(exact.explain())
    document = json.loads(asked.explain().to_json())
    assert (document["precision"], document["reduced"]) == ("bf16", 3)
    assert repr(asked.device).startswith("Device(num_threads=2, precision='bf16'")


@needs_bf16
def test_small_windows_on_few_channels_stay_in_float32():
    """Where their rows are multiplied as they lie: a level that gathers them anyway can round them."""
    b = nnfast.ModelBuilder("first")
    x, one = b.input(FLOAT, (1, 32, 32, 3), name="x"), b.scalar(1)
    for units in (16, 24):
        w, bias = b.constant(weights(units, 3, 3, 3 if units == 16 else 16)), b.constant(np.zeros(units, np.float32))
        y = b.operand(FLOAT, (1, 32, 32, 16)) if units == 16 else b.output(FLOAT, (1, 32, 32, 24), name="y")
        b.operation("CONV_2D", [x, w, bias, one, one, one, one], [y])
        x = y
    asked = nnfast.Device(1, precision="bf16").prepare(b.build())
    gathers = "scalar" in kernels.picked("conv2d_line_f32_nhwc")
    assert [row["bf16"] for row in asked.explain().rows] == [gathers, True]


@needs_bf16
def test_depthwise_filters_of_one_channel_are_not_rounded():
    """They run as convolutions, which are."""
    b = nnfast.ModelBuilder("depthwise")
    x, one, size = b.input(FLOAT, (1, 32, 32, 1), name="x"), b.scalar(1), b.scalar(4)
    w, bias = b.constant(weights(1, 7, 7, 64)), b.constant(np.zeros(64, np.float32))
    inputs = [x, w, bias, one, size, size, b.scalar(64), one]
    model = b.operation("DEPTHWISE_CONV_2D", inputs, [b.output(FLOAT, (1, 8, 8, 64), name="y")]).build()
    exact, asked = (nnfast.Device(1, precision=p).prepare(model) for p in (None, "bf16"))
    image = weights(1, 32, 32, 1)
    assert "conv" in kernels_of(exact)[0].lower() and not asked.explain().rows[0]["bf16"]
    assert asked.run([image])[0].tobytes() == exact.run([image])[0].tobytes()


@needs_bf16
def test_threads_do_not_matter():
    one, two, three = (nnfast.Device(n, precision="bf16").prepare(net()).run([X])[0] for n in (1, 2, 3))
    assert one.tobytes() == two.tobytes() == three.tobytes()


@pytest.mark.parametrize("level", [level for level in kernels.levels() if level not in BF16_LEVELS])
def test_levels_without_it_compute_exactly_and_say_so(level):
    kernels.set_level(level)
    exact, asked = (nnfast.Device(2, precision=p).prepare(net()) for p in (None, "bf16"))
    assert exact.run([X])[0].tobytes() == asked.run([X])[0].tobytes()
    assert kernels_of(exact) == kernels_of(asked)
    assert f"0 of 4 operations multiply in it, level {level} has no kernels for it" in str(asked.explain())


def test_float16_is_left_alone():
    exact, asked = (nnfast.Device(1, precision=p).prepare(net("TENSOR_FLOAT16")) for p in (None, "bf16"))
    x = X.astype(np.float16)
    assert exact.run([x])[0].tobytes() == asked.run([x])[0].tobytes()


@needs_bf16
def test_it_travels_with_a_pickle_and_the_cache(tmp_path):
    device = nnfast.Device(1, precision="bf16")
    fresh = device.prepare(net())
    wanted = fresh.run([X])[0].tobytes()
    stored, again = (device.prepare(net(), cache_dir=str(tmp_path)) for _ in range(2))
    for prepared in (stored, again, pickle.loads(pickle.dumps(fresh)), pickle.loads(pickle.dumps(again))):
        assert prepared.run([X])[0].tobytes() == wanted
        assert prepared.explain().reduced == 3
    exact = nnfast.Device(1).prepare(net(), cache_dir=str(tmp_path))
    assert exact.explain().reduced == 0


def test_a_cache_of_another_precision_is_refused(tmp_path):
    files = files_in(tmp_path)
    nnfast.Device(1, precision="bf16").prepare(models.conv_model(), cache=files, token=TOKEN)
    with pytest.raises(GeneralFailure, match="it was stored with another precision: bf16"):
        nnfast.Device(1).prepare_from_cache(files, TOKEN)
