"""Sizes that follow from the machine's caches: where they come from, and that no result depends on them."""

import numpy as np
import pytest

import nnfast
from helpers.convolutions import dense
from helpers.processes import fresh
from helpers.shared import MODELS, needs_models
from helpers.steps import at_level, every_level
from nnfast._native import conv, kernels
from nnfast.stress.client import draw_inputs

F32, U8, S8 = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED"
TINY, HUGE = (16 << 10, 128 << 10), (256 << 10, 16 << 20)
NAMES = ("mobilenet_v1_0.25_128_f32", "mobilenet_v1_0.25_128_int8", "mobilenet_v1_0.25_128_uint8", "asr_like_f32")

CONVOLUTIONS = ((14, 96, 200, 1, 1), (7, 320, 520, 1, 1), (1, 600, 300, 1, 1), (12, 24, 40, 3, 1), (13, 64, 80, 3, 2),
                (28, 64, 64, 3, 1), (20, 3, 48, 7, 2), (9, 33, 31, 5, 1))
"""Rows and columns of an image, channels, units, taps of a side, stride: on either side of every limit."""


@pytest.fixture(autouse=True)
def machine():
    yield
    kernels.set_caches(None)


def small_caches(folder, **texts):
    """A folder as Linux has it; texts: of each cache, with commas between level, type, size and the sharing mask."""
    for name, text in texts.items():
        (folder / name).mkdir()
        for part, value in zip(("level", "type", "size", "shared_cpu_map"), text.split(",")):
            (folder / name / part).write_text(value + "\n")
    return folder


# -- where they come from ----------------------------------------------------------------------------------------------
def test_a_core_has_its_share_of_a_cache_of_several(tmp_path):
    folder = small_caches(tmp_path, index0="1,Data,48K,3", index1="1,Instruction,64K,3", index2="2,Unified,4M,ff",
                          index3="3,Unified,30M,fff")
    assert kernels.core_caches(folder) == (48 << 10, 1 << 20)   # four pairs of processors share level 2
    assert kernels.cache_sizes(folder) == {"L1": 48 << 10, "L2": 4 << 20, "L3": 30 << 20}


@pytest.mark.parametrize("texts, wanted", [
    ({}, (0, 0)), ({"index0": "1,Data,odd,1"}, (0, 0)), ({"index0": "1,Data,32K,"}, (0, 0)),
    ({"index0": "1,Data,32K,1", "index2": "2,Unified,1G,1"}, (32 << 10, 0)),
    ({"index0": "1,Data,32K,0", "index2": "2,Unified,512K,0"}, (32 << 10, 512 << 10))], ids=str)
def test_what_linux_does_not_tell_is_unknown(texts, wanted, tmp_path):
    assert kernels.core_caches(small_caches(tmp_path, **texts)) == wanted


def test_sizes_are_parts_of_the_caches():
    kernels.set_caches((48 << 10, 2 << 20))
    usual = kernels.sizes()
    kernels.set_caches((96 << 10, 4 << 20))
    assert kernels.sizes() == {name: 2 * size for name, size in usual.items()} and len(usual) > 20
    kernels.set_caches((0, 0))
    assert kernels.sizes() == usual                             # those of an unknown machine


@pytest.mark.parametrize("caches", [(1, 1), (1 << 40, 1 << 40), (16 << 10, 16 << 20), TINY, HUGE], ids=str)
def test_odd_caches_give_sizes_that_work(caches):
    kernels.set_caches(caches)
    sizes = kernels.sizes()
    assert TINY[0] <= sizes["level1"] <= HUGE[0] and TINY[1] <= sizes["level2"] <= HUGE[1]
    assert all(0 < size <= 2 * HUGE[1] for size in sizes.values())


SIZES = "from nnfast._native import kernels; print(*(kernels.sizes()[name] for name in ('level1', 'level2')))"


def test_the_environment_names_the_caches():
    assert fresh(SIZES, NNFAST_CACHES="32, 1024").split() == [str(32 << 10), str(1 << 20)]


@pytest.mark.parametrize("text", ["48", "48,", "48,2048,1", "0,1024", "-1,5", "a,b", "1e3,2", f"1,{1 << 40}"])
def test_an_environment_that_names_no_caches_is_refused(text, monkeypatch):
    monkeypatch.setenv("NNFAST_CACHES", text)
    with pytest.raises(nnfast.InvalidArgument, match="NNFAST_CACHES: .* as 48,2048$"):
        kernels.set_caches(None)


def test_a_model_compiled_for_other_caches_is_compiled_anew():
    from nnfast.driver.cache_files import version_string

    kernels.set_caches(TINY)
    tiny = version_string()
    kernels.set_caches(HUGE)
    assert version_string() != tiny
    kernels.set_caches(TINY)
    assert version_string() == tiny


# -- no result depends on them -----------------------------------------------------------------------------------------
def convolution(kind, size, channels, units, taps, stride):
    """Model of one convolution of an image of size x size, with padding SAME."""
    rng, b = np.random.default_rng(size), nnfast.ModelBuilder("convolution")
    quant = {} if kind == F32 else {"scale": 0.5, "zero_point": 3}
    x = b.input(kind, (1, size, size, channels), **quant)
    shape, out = (units, taps, taps, channels), -(-size // stride)
    if kind == F32:
        w, bias = b.constant(rng.standard_normal(shape, np.float32)), b.constant(rng.standard_normal(units, np.float32))
    else:
        codes = rng.integers(0, 120, shape).astype(np.uint8 if kind == U8 else np.int8)
        w = b.constant(codes, kind, scale=0.25, zero_point=3)
        bias = b.constant(rng.integers(-99, 99, units).astype(np.int32), "TENSOR_INT32", scale=0.125)
    y = b.output(kind, (1, out, out, units), **({} if kind == F32 else {"scale": 64.0, "zero_point": 3}))
    return b.operation("CONV_2D", [x, w, bias, *map(b.scalar, (1, stride, stride, 0))], [y]).build()


def chain():
    """An inverted residual: a wide convolution, a depthwise one, a narrow one."""
    rng, b = np.random.default_rng(4), nnfast.ModelBuilder("chain")
    x, y = b.input(F32, (1, 40, 40, 24)), b.output(F32, (1, 20, 20, 32))
    inner = [b.operand(F32, (1, size, size, 144)) for size in (40, 20)]
    wide, deep, thin = (b.constant(rng.standard_normal(shape, np.float32))
                        for shape in ((144, 1, 1, 24), (1, 5, 5, 144), (32, 1, 1, 144)))
    bias, last = b.constant(np.ones(144, np.float32)), b.constant(np.zeros(32, np.float32))
    one, two, none = b.scalar(1), b.scalar(2), b.scalar(0)
    b.operation("CONV_2D", [x, wide, bias, one, one, one, none], [inner[0]])
    b.operation("DEPTHWISE_CONV_2D", [inner[0], deep, bias, one, two, two, one, none], [inner[1]])
    return b.operation("CONV_2D", [inner[1], thin, last, one, one, one, none], [y]).build()


def lstm(units=96, size=120):
    """A layer over 6 times, whose weights are more than tiny caches hold."""
    rng, b = np.random.default_rng(6), nnfast.ModelBuilder("lstm")
    x, state, y = b.input(F32, (6, 1, size)), b.input(F32, (1, units)), b.output(F32, (6, 1, units))
    none = b.omitted(F32)
    into, back, bias = ([b.constant(rng.standard_normal(shape, np.float32)) for _ in range(4)]
                        for shape in ((units, size), (units, units), (units,)))
    return b.operation("UNIDIRECTIONAL_SEQUENCE_LSTM", [
        x, *into, *back, none, none, none, *bias, none, none, state, state, b.scalar(4), b.scalar(np.float32(0)),
        b.scalar(np.float32(0)), b.scalar(True), none, none, none, none], [y]).build()


def results(model, precision, caches):
    """Bytes of all results for one and for two threads, compiled for these caches."""
    kernels.set_caches(caches)
    found = []
    for threads in (1, 2):
        with nnfast.Device(num_threads=threads, precision=precision).prepare(model) as prepared:
            inputs = draw_inputs(prepared.inputs, np.random.default_rng(1))
            found += [y.tobytes() for y in prepared.run(inputs)]
    return found


def check(model, precision=None):
    """Results are the same bytes for tiny caches, for huge ones, and for those of this machine."""
    tiny, huge, usual = (results(model, precision, caches) for caches in (TINY, HUGE, None))
    assert tiny == huge == usual


def test_caches_decide_how_work_is_cut():
    """What the following tests rely on."""
    def scratch(caches):
        kernels.set_caches(caches)
        made = [dense(size, size, *form) for size, *form in CONVOLUTIONS]
        return [conv.Conv2dF32((0, 1, 2), case.window, 1, case.channels, case.units, 0.0, 1.0).scratch for case in made]

    assert scratch(TINY) != scratch(HUGE)


@every_level
@pytest.mark.parametrize("kind, precision", [(F32, None), (F32, "bf16"), (U8, None), (S8, None)],
                         ids=["f32", "bf16", "u8", "s8"])
@pytest.mark.parametrize("form", CONVOLUTIONS, ids=str)
def test_convolutions_give_the_same_bytes_whatever_the_caches(form, kind, precision, level):
    with at_level(level):
        check(convolution(kind, *form), precision)


@every_level
@pytest.mark.parametrize("make", [chain, lstm])
def test_chains_and_layers_give_the_same_bytes_whatever_the_caches(make, level):
    with at_level(level):
        check(make())
        check(make(), "bf16")


@needs_models
@pytest.mark.parametrize("name", NAMES)
def test_models_give_the_same_bytes_whatever_the_caches(name):
    check(nnfast.load(MODELS / f"{name}.tflite"))
