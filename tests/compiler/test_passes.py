"""Every pass: its name, its reason, its switch, and that results are the same without it."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import nnfast
from helpers.normalized import normalized
from helpers.shared import FLOAT_TOLERANCE, MODELS, answers, relative_error
from nnfast import CacheFiles
from nnfast._native import conv
from nnfast.compiler import passes
from nnfast.errors import GeneralFailure
from nnfast.model.types import DTYPES, OperandType

FLOAT, HALF, CODES = "TENSOR_FLOAT32", "TENSOR_FLOAT16", "TENSOR_QUANT8_ASYMM"
SHARED = ("mobilenet_v1_0.25_128_f32", "mobilenet_v1_0.25_128_int8", "mobilenet_v2_1.0_224_f32",
          "ssd_mobilenet_v1_0.5_300_int8", "asr_like_f32")
BOUND = {np.dtype(np.float32): 1e-5, np.dtype(np.float16): 2**-9}
"""How far a float result may move, of the range of the results: both are within the bound of their operations."""


def images(kind, nchw, size=40, channels=64):
    """A pointwise, a depthwise and another pointwise convolution and a reshape, in either layout."""
    b, rng = nnfast.ModelBuilder("images"), np.random.default_rng(5)
    quant = {"scale": 0.5, "zero_point": 100} if kind == CODES else {}
    wide = {"scale": 8.0, "zero_point": 7} if quant else {}

    def values(*shape):
        if quant:
            return b.constant(rng.integers(0, 200, shape).astype(np.uint8), kind, **quant)
        return b.constant(rng.standard_normal(shape).astype(DTYPES[OperandType[kind]]))

    def image(make, given):
        return make(kind, (1, channels, size, size) if nchw else (1, size, size, channels), **given)

    at, given = image(b.input, quant), quant
    for name in ("CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D"):
        depthwise = name == "DEPTHWISE_CONV_2D"
        bias = b.constant(np.zeros(channels, np.int32), scale=0.5 * given["scale"]) if quant else values(channels)
        weights = values(1, 3, 3, channels) if depthwise else values(channels, 1, 1, channels)
        target, given = image(b.operand, wide), wide
        b.operation(name, [at, weights, bias, *map(b.scalar, (1, 1, 1, *([1] if depthwise else []), 1, nchw))],
                    [target])
        at = target
    flat = b.output(kind, (channels, size * size), **wide)
    b.operation("RESHAPE", [at, b.constant(np.int32([channels, size * size]))], [flat])
    return b.build()


def gated():
    """x times LOGISTIC of x."""
    b, shape = nnfast.ModelBuilder("gated"), (1, 9, 9, 8)
    x = b.input(FLOAT, shape)
    b.operation("MUL", [x, b.add("LOGISTIC", [x]), b.scalar(0)], [b.output(FLOAT, shape)])
    return b.build()


def framed():
    """A CONV_2D behind a PAD."""
    b, rng = nnfast.ModelBuilder("framed"), np.random.default_rng(6)
    x, y = b.input(FLOAT, (1, 9, 9, 8)), b.output(FLOAT, (1, 9, 9, 4))
    pad = b.operand(FLOAT, (1, 11, 11, 8))
    b.operation("PAD", [x, b.constant(np.int32([[0, 0], [1, 1], [1, 1], [0, 0]]))], [pad])
    weights, bias = (b.constant(rng.standard_normal(shape).astype(np.float32)) for shape in ((4, 3, 3, 8), (4,)))
    b.operation("CONV_2D", [pad, weights, bias, *map(b.scalar, (2, 1, 1, 0))], [y])
    return b.build()


def elements():
    """TANH, and its product with the input, of a megabyte."""
    b, shape = nnfast.ModelBuilder("elements"), (1, 128, 64, 32)
    x, between = b.input(FLOAT, shape), b.operand(FLOAT, shape)
    b.operation("TANH", [x], [between])
    b.operation("MUL", [between, x, b.scalar(0)], [b.output(FLOAT, shape)])
    return b.build()


def turned():
    """A product of rows of four heads with themselves."""
    b, order = nnfast.ModelBuilder("turned"), np.int32([0, 2, 1, 3])
    x, q, out = b.input(FLOAT, (1, 9, 4, 8)), b.operand(FLOAT, (1, 4, 9, 8)), b.output(FLOAT, (1, 4, 9, 9))
    k = b.operand(FLOAT, (1, 4, 9, 8))
    for head in (q, k):
        b.operation("TRANSPOSE", [x, b.constant(order)], [head])
    b.operation("BATCH_MATMUL", [q, k, b.scalar(False), b.scalar(True)], [out])
    return b.build()


def curves():
    """Codes times LOGISTIC of them."""
    b, shape, quant = nnfast.ModelBuilder("curves"), (1, 16, 16, 8), {"scale": 0.05, "zero_point": 3}
    x, gate = b.input(CODES, shape, **quant), b.operand(CODES, shape, scale=1 / 256, zero_point=0)
    b.operation("LOGISTIC", [x], [gate])
    b.operation("MUL", [x, gate, b.scalar(0)], [b.output(CODES, shape, **quant)])
    return b.build()


BUILT = {
    "float32 in NCHW": (images(FLOAT, True), None), "codes in NCHW": (images(CODES, True), None),
    "float16": (images(HALF, False), None), "float32": (images(FLOAT, False, 90), None),
    "codes": (images(CODES, False, 90), None), "few codes": (images(CODES, False), None),
    "gated": (gated(), None), "framed": (framed(), None),
    "elements": (elements(), None), "turned": (turned(), None), "curves": (curves(), None),
    "normalized": (normalized("times"), None),
    "bfloat16": (images(FLOAT, False, 90), "bf16"),
}
CHANGES = {
    "float32 in NCHW": {"nchw_to_nhwc", "share_memory", "drop_constants"},
    "codes in NCHW": {"nchw_to_nhwc", "share_memory", "drop_constants"},
    "float16": {"widen_float16", "share_memory"},
    "float32": {"share_memory", "drop_constants", "row_fusion"},
    "codes": {"share_memory", "drop_constants"},
    "few codes": {"share_memory", "drop_constants", "barrier_elimination"},
    "gated": {"silu_fusion"},
    "framed": {"pad_fusion"}, "elements": {"elementwise_fusion"}, "curves": {"lookup_fusion"},
    "normalized": {"layer_norm_fusion"}, "turned": {"transpose_fusion"},
    "bfloat16": {"share_memory", "drop_constants", "bf16_activations", "prefetch_weights", "row_fusion"},
}
"""Passes that have something to do in each built model."""
FOR_SEVERAL = {"barrier_elimination"}
"""Those that have nothing to do for one thread."""


def same(found, wanted):
    """Integers are equal, floats within BOUND of the range."""
    for a, b in zip(found, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype in BOUND:
            assert np.abs(a.astype(np.float64) - b).max() <= BOUND[a.dtype] * max(np.ptp(b.astype(np.float64)), 1e-30)
        else:
            assert a.tobytes() == b.tobytes()


def test_every_file_is_a_pass_and_every_pass_a_file():
    files = {path.stem for path in Path(passes.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == set(passes.NAMES)


@pytest.mark.parametrize("name", passes.NAMES)
def test_a_pass_says_why_in_one_line(name):
    if name == "bf16_activations" and not conv.bf16_available():
        pytest.skip("this machine multiplies no bfloat16")
    assert 10 < len(passes.why(name)) < 110 and "\n" not in passes.why(name)


@pytest.mark.parametrize("without", passes.NAMES)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", BUILT)
def test_results_of_built_models_do_not_change(name, threads, without):
    model, precision = BUILT[name]
    if precision and not conv.bf16_available():
        pytest.skip("this machine multiplies no bfloat16")
    whole = nnfast.Device(threads, precision=precision).prepare(model)
    part = nnfast.Device(threads, precision=precision, without_passes=[without]).prepare(model)
    assert set(whole.explain().passes) >= CHANGES[name] - (FOR_SEVERAL if threads == 1 else set())
    if without == "native_kernels" and precision:
        whole = nnfast.Device(threads).prepare(model)  # definitions have full precision
    assert without not in part.explain().passes
    info = whole.inputs[0]
    x = np.random.default_rng(1).uniform(0, 8, info.shape).astype(info.dtype)
    same(part.run([x]), whole.run([x]))


@pytest.mark.parametrize("without", [*([name] for name in passes.NAMES), passes.NAMES], ids=" ".join)
@pytest.mark.parametrize("file", ["digits_float32.tflite", "digits_int8.tflite"])
def test_results_of_shipped_models_do_not_change(file, without):
    data = Path(nnfast.__file__).parent / "data"
    model, pictures = nnfast.load(data / file), np.load(data / "digits.npz")["images"][:16, None, :, :, None] / 16
    whole, part = nnfast.Device(2).prepare(model), nnfast.Device(2, without_passes=without).prepare(model)
    for x in pictures.astype(np.float32):
        same(part.run([x], quantize=True), whole.run([x], quantize=True))


@pytest.mark.parametrize("name", SHARED)
def test_results_of_shared_models_do_not_change(name):
    if not (MODELS / f"{name}.tflite").exists():
        pytest.skip(f"{MODELS} is not there")
    model, data = nnfast.load(MODELS / f"{name}.tflite"), np.load(MODELS / f"{name}.npz")
    wanted = answers(nnfast.Device(2).prepare(model), data)
    for without in (*([one] for one in passes.NAMES), passes.NAMES):
        found = answers(nnfast.Device(2, without_passes=without).prepare(model), data)
        for a, b in zip(found, wanted, strict=True):
            if b.dtype.kind == "f":
                assert relative_error(a, b) <= FLOAT_TOLERANCE
            else:
                assert a.tobytes() == b.tobytes()


def test_rows_and_lines_tell_what_changed():
    explained = nnfast.Device(1).prepare(images(FLOAT, True)).explain()
    assert [("nchw_to_nhwc" in row["passes"]) for row in explained.rows] == [True, True, True, False]
    assert explained.rows[3]["passes"] == ["share_memory"]
    assert f"pass nchw_to_nhwc: {passes.why('nchw_to_nhwc')} (operation 0 1 2)" in str(explained).splitlines()
    off = nnfast.Device(1, without_passes=["nchw_to_nhwc"]).prepare(images(FLOAT, True)).explain()
    assert [row["kernel"] for row in off.rows[:3]] == ["numpy"] * 3
    assert "passes left out: nchw_to_nhwc" in str(off).splitlines()


def test_all_may_be_left_out():
    model = images(CODES, True)
    x = np.random.default_rng(2).integers(0, 200, (1, 64, 40, 40)).astype(np.uint8)
    device = nnfast.Device(2, without_passes=passes.NAMES)
    assert not device.prepare(model).explain().passes
    same(device.prepare(model).run([x]), nnfast.Device(2).prepare(model).run([x]))


@pytest.mark.parametrize(("wrong", "said"), [
    (["share_memory", "row_fussion"], "element 1 is 'row_fussion', must be one of " + ", ".join(passes.NAMES)),
    ([7], "element 0 is 7, must be one of " + ", ".join(passes.NAMES)),
    ("row_fusion", "is 'row_fusion', must be a list of names of compiler passes"),
    (None, "is None, must be a list of names of compiler passes"),
])
def test_unknown_names_are_refused(wrong, said):
    with pytest.raises(nnfast.InvalidArgument) as error:
        nnfast.Device(1, without_passes=wrong)
    assert str(error.value) == f"Device without_passes: {said}"


def test_compiled_models_are_kept_apart(tmp_path):
    model = images(FLOAT, False)
    for without in ([], ["share_memory"], ["drop_constants", "share_memory"]):
        nnfast.Device(1, without_passes=without).prepare(model, cache_dir=tmp_path)
    assert len(list(tmp_path.iterdir())) == 6
    rows = [nnfast.Device(1, without_passes=without).prepare(model, cache_dir=tmp_path).explain().rows[3]["kernel"]
            for without in ([], ["share_memory"])]
    assert rows[0] == "no copy" != rows[1]


def test_files_of_another_set_of_passes_are_refused(tmp_path):
    with open(tmp_path / "model", "w+b") as head, open(tmp_path / "data", "w+b") as data:
        files = CacheFiles((head.fileno(),), (data.fileno(),))
        nnfast.Device(1).prepare(images(FLOAT, False), cache=files, token=bytes(32))
        assert nnfast.Device(1).prepare_from_cache(files, bytes(32))
        with pytest.raises(GeneralFailure, match="compiler passes"):
            nnfast.Device(1, without_passes=["row_fusion"]).prepare_from_cache(files, bytes(32))


def test_a_pickle_keeps_the_choice():
    prepared = nnfast.Device(1, without_passes=["share_memory"]).prepare(images(FLOAT, False))
    assert pickle.loads(pickle.dumps(prepared)).device.without_passes == {"share_memory"}


def test_the_built_models_try_every_pass():
    assert set().union(*CHANGES.values()) | {"native_kernels"} == set(passes.NAMES)


@pytest.mark.parametrize("name", BUILT)
def test_definitions_run_where_kernels_are_left_out(name):
    model, precision = BUILT[name]
    explained = nnfast.Device(1, precision=precision, without_passes=["native_kernels"]).prepare(model).explain()
    assert {row["kernel"] for row in explained.rows} == {"numpy"}
    assert {row["reason"] for row in explained.rows} == {"native kernels are left out"} and not explained.passes


def test_constants_in_another_shape_are_read():
    """A RESHAPE of a constant shares its memory, also where the plan is one native program."""
    b, values = nnfast.ModelBuilder(), np.random.default_rng(8).standard_normal((96, 48)).astype(np.float32)
    x, y = b.input(FLOAT, (2, 3, 48)), b.operand(FLOAT, (2, 48, 48))
    out = b.output(FLOAT, (2, 3, 48))
    b.operation("RESHAPE", [b.constant(values), b.constant(np.int32([2, 48, 48]))], [y])
    b.operation("BATCH_MATMUL", [x, y, b.scalar(False), b.scalar(False)], [out])
    rows = np.random.default_rng(9).standard_normal((2, 3, 48)).astype(np.float32)
    prepared = nnfast.Device(num_threads=1).prepare(b.build())
    for _ in range(2):
        np.testing.assert_allclose(prepared.run([rows])[0], rows @ values.reshape(2, 48, 48), rtol=0, atol=1e-4)
