"""Operators that become operations of nnfast's own: their numbers, their place in a model, refusals of several."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.running import Const, One
from nnfast.compiler.resolve import resolve
from nnfast.errors import GeneralFailure, InvalidArgument, UnsupportedOperator
from nnfast.model.own import NAME
from nnfast.ops.tfl import Choices
from nnfast.tflite import load

X = np.array([-2.5, -0.5, 0.0, 0.5, 1.5, 3.0], np.float32)


@pytest.mark.parametrize("kind, expected", [
    ("COS", np.cos(X.astype(np.float64)).astype(np.float32)), ("ROUND", np.rint(X)), ("SIGN", np.sign(X)),
])
def test_unary(kind, expected):
    (result,) = One(kind, [X], [((6,), "float32")]).run()
    assert result.dtype == np.float32 and result.tolist() == expected.tolist()


I32 = np.array([[7, -7, 3], [0, 5, -9]], np.int32)
Y32 = np.array([[2, 2, -2], [3, -3, 4]], np.int32)
F = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7
SOUND = np.cos(np.arange(3 * 7 * 2 * 700, dtype=np.float32) ** 1.2).reshape(3, 7, 2, 700)
ROWS = np.array([True, False])


def ints(*values):
    return Const(np.array(values, np.int32))


@pytest.mark.parametrize("kind, inputs, options, expected", [
    ("DIV", [I32, Y32], None, [[3, -3, -1], [0, -1, -2]]),
    ("FLOOR_DIV", [I32, Y32], None, I32 // Y32), ("FLOOR_MOD", [I32, Y32], None, I32 % Y32),
    ("FLOOR_DIV", [F, F + 0.5], None, np.floor(F.astype(np.float64) / (F + np.float32(0.5)))),
    ("ADD", [I32, Y32], ("AddOptions", {"FusedActivationFunction": 1}), np.maximum(I32 + Y32, 0)),
    ("MAXIMUM", [F.astype(np.int64), F.astype(np.int64)[:, :1].copy()], None, np.maximum(F, F[:, :1])),
    ("REVERSE_V2", [F, ints(0, 1)], None, F[::-1, ::-1]),
    ("FILL", [ints(2, 3), F[0, 0, :1]], None, np.full((2, 3), -7)),
    ("SUM", [F.astype(np.int64), ints(1)], ("ReducerOptions", {"KeepDims": True}), F.sum(1, keepdims=True)),
    ("ARG_MAX", [F, ints(1)], None, F.argmax(1)),
    ("SELECT", [ROWS, F, -F], None, np.where(ROWS[:, None, None], F, -F)),
    ("BATCH_MATMUL", [F, F[:1].transpose(0, 2, 1).copy()], None, F @ F[:1].transpose(0, 2, 1)),
    ("GATHER_ND", [F, ints([0, 1], [1, 2])], None, F[[0, 1], [1, 2]]),
    ("SCATTER_ND", [ints([1], [3], [1]), F[0, :, 0].copy(), ints(5)], None, [0, -6, 0, -3, 0]),
    ("DYNAMIC_UPDATE_SLICE", [F, np.ones((1, 2, 2), np.float32), ints(5, 0, 1)], None, None),
    ("CUMSUM", [F, ints(2)], ("CumsumOptions", {"Exclusive": True, "Reverse": True}),
     np.cumsum(F[..., ::-1], 2)[..., ::-1] - F),
    ("ONE_HOT", [ints(0, 2, 5), ints(3), Const(F[0, 0, :1]), Const(F[1, 0, :1])], ("OneHotOptions", {"Axis": -1}),
     np.where(np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0]]), -7, 5)),
    ("WHERE", [F > 14], None, np.argwhere(F > 14)), ("RANGE", [ints(2), ints(9), ints(3)], None, [2, 5, 8]),
    ("REVERSE_SEQUENCE", [F, ints(2, 4)], ("ReverseSequenceOptions", {"SeqDim": 2, "BatchDim": 0}), None),
    ("SEGMENT_SUM", [F, ints(0, 2)], None, np.stack([F[0], 0 * F[0], F[1]])),
    ("UNSORTED_SEGMENT_MAX", [F, ints(1, 1), ints(2)], None,
     np.stack([np.full((3, 4), np.finfo(np.float32).min), F[1]])),
    ("BROADCAST_ARGS", [ints(3, 1), ints(2, 1, 4)], None, [2, 3, 4]), ("ATAN2", [F, F + 1], None, np.arctan2(F, F + 1)),
    ("SPARSE_TO_DENSE", [ints([0, 1], [1, 2]), ints(2, 3), ints(7, 8), ints(-1)], None, [[-1, 7, -1], [-1, -1, 8]]),
    ("TRANSPOSE", [F.reshape(1, 2, 1, 3, 4, 1), ints(5, 4, 3, 2, 1, 0)], None, F.reshape(1, 2, 1, 3, 4, 1).T),
    ("ZEROS_LIKE", [F], None, 0 * F), ("CAST", [np.array([1, 0, -3])], None, [1, 0, -3]),
    ("RELU_0_TO_1", [F / 4], None, np.clip(F / 4, 0, 1)), ("EXPAND_DIMS", [I32.astype(bool), ints(1)], None, None),
    ("RFFT2D", [F[:, 0].copy(), ints(2, 4)], None, np.fft.rfft2(F[:, 0])),
    ("RFFT2D", [F[:, 0].copy(), ints(1, 8)], None, np.fft.rfft2(F[:, 0], (1, 8))),
    ("RFFT2D", [SOUND, ints(1, 1024)], None, np.fft.rfft2(SOUND[..., :1, :], (1, 1024))),
])
def test_like_numpy(kind, inputs, options, expected):
    if kind == "DYNAMIC_UPDATE_SLICE":
        expected = F.copy()
        expected[1:2, 0:2, 1:3] = 1
    elif kind == "REVERSE_SEQUENCE":
        expected = F.copy()
        expected[0, :, :2], expected[1] = F[0, :, 1::-1], F[1, :, ::-1]
    elif kind == "EXPAND_DIMS":
        expected = I32.astype(bool)[:, None]
    expected = np.asarray(expected)
    first = next(a for a in inputs if isinstance(a, np.ndarray)) if any(isinstance(a, np.ndarray) for a in inputs) \
        else inputs[0].array
    dtype = {"ARG_MAX": "int64", "WHERE": "int64", "BUCKETIZE": "int32", "RFFT2D": "complex64",
             "SELECT": "float32", "ONE_HOT": "float32"}.get(kind, first.dtype.name)
    (result,) = One(kind, inputs, [(expected.shape, dtype)], *(options or ())).run()
    assert result.shape == (expected.shape or (1,))
    np.testing.assert_allclose(result.astype(expected.dtype), expected, 1e-6, 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("begin, end", [((0, -1, 1), (2, 0, 3)), ((0, 1, 1), (2, 2, 3)), ((0, 2, 1), (2, 0, 3))])
def test_a_shrunk_dimension_has_no_end(dtype, begin, end):
    """What is computed as x[:, -1, 1:3] ends at -1 + 1 = 0."""
    x, bounds = F.astype(dtype), [np.int32(begin), np.int32(end), Const(np.int32([1, 1, 1]))]
    one = One("STRIDED_SLICE", [x, *bounds], [((2, 2), dtype)], "StridedSliceOptions", {"ShrinkAxisMask": 2})
    (result,) = one.run()
    np.testing.assert_array_equal(result, x[:, begin[1], 1:3])


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("has_length", [True, False])
@pytest.mark.parametrize("is_fed", [True, False])
def test_computed_bounds_of_the_first_dimensions(dtype, has_length, is_fed):
    """x[:, :n], where n comes with a run or is computed; a file may leave open how many bounds there are."""
    x, end = F.astype(dtype), np.int32([2, 2])
    tensors = [Tensor("x", F.shape, dtype, scale=0.5, zero_point=0), Tensor.of("one", np.int32([1, 1])),
               Tensor("n", (2,), "int32", signature=(2,) if has_length else (-1,)),
               Tensor("end", (2,), "int32", signature=(2,) if has_length else (-1,)),
               Tensor.of("begin", np.int32([0, 0])), Tensor("y", (2, 2, 4), dtype, scale=0.5, zero_point=0)]
    ops = [Op("STRIDED_SLICE", ["x", "begin", "n" if is_fed else "end", "one"], ["y"], "StridedSliceOptions",
              {"BeginMask": 3})]
    if not is_fed:
        ops.insert(0, Op("ADD", ["n", "one"], ["end"], "AddOptions"))
    model = load(build(tensors, ops, ["x", "n"], ["y"]))
    found, = nnfast.Device().prepare(model).run([x, end - (not is_fed)])
    np.testing.assert_array_equal(found, x[:2, :2])


MARKED = F % 5 > 1


@pytest.mark.parametrize("kind, function", [
    ("SUM", np.any), ("REDUCE_MAX", np.any), ("REDUCE_PROD", np.all), ("REDUCE_MIN", np.all)])
@pytest.mark.parametrize("axes", [(1,), (0, 2), ()])
def test_reductions_of_booleans(kind, function, axes):
    expected = function(MARKED, axes) if axes else MARKED
    (result,) = One(kind, [MARKED, Const(np.array(axes, np.int32))], [(expected.shape, "bool")],
                    "ReducerOptions").run()
    assert result.dtype == bool
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("kind, lowest", [("REDUCE_MAX", False), ("REDUCE_MIN", True)])
def test_extremes_of_no_booleans(kind, lowest):
    (result,) = One(kind, [Const(np.zeros((0, 2), bool)), np.int32([0])], [((2,), "bool")], "ReducerOptions").run()
    assert result.tolist() == [lowest] * 2


@pytest.mark.parametrize("kind, function", [("MAXIMUM", np.logical_or), ("MINIMUM", np.logical_and)])
def test_larger_and_smaller_of_booleans(kind, function):
    (result,) = One(f"STABLEHLO_{kind}", [MARKED, MARKED[::-1].copy()], [(MARKED.shape, "bool")]).run()
    np.testing.assert_array_equal(result, function(MARKED, MARKED[::-1]))


@pytest.mark.parametrize("kind", ["MAXIMUM", "MINIMUM"])
@pytest.mark.parametrize("prefix", ["", "STABLEHLO_"])
@pytest.mark.parametrize("shapes", [((9, 7), (9, 7)), ((9, 7), (7,)), ((9, 7), (1,)), ((7,), (9, 7)), ((9, 1), (9, 7))])
def test_larger_and_smaller_of_what_has_no_order(kind, prefix, shapes):
    """Numbers beside NaNs, and zeros of both signs: TFLite takes the second, STABLEHLO the first."""
    rng = np.random.default_rng(5)
    x, y = (rng.choice(np.float32([np.nan, 0, -0.0, 1, -1]), shape) for shape in shapes)
    first, second = (y, x) if prefix else (x, y)
    wanted = np.where(first > second if kind == "MAXIMUM" else first < second, first, second)
    (result,) = One(prefix + kind, [x, y], [(wanted.shape, "float32")]).run()
    np.testing.assert_array_equal(result, wanted)
    np.testing.assert_array_equal(np.signbit(result[result == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("kind", ["SUM", "MEAN", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"])
@pytest.mark.parametrize("axis", [0, -1, 3])
@pytest.mark.parametrize("computed", [False, True])
def test_reductions_of_a_single_value(kind, axis, computed):
    """It has no axes to be named."""
    axes = np.int32([axis])
    (result,) = One(kind, [np.array(-7, np.int32), axes if computed else Const(axes)], [((), "int32")],
                    "ReducerOptions").run()
    assert result.tolist() == [-7]


@pytest.mark.parametrize("kind, count", [("SLICE", 2), ("STRIDED_SLICE", 3), ("TILE", 1), ("TRANSPOSE", 1),
                                         ("BROADCAST_TO", 1), ("REVERSE_V2", 1)])
@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize("computed", [False, True])
def test_what_moves_no_dimension_of_a_single_value(kind, count, index, dtype, computed):
    nothing, x = np.zeros(0, index), np.array(7).astype(dtype)
    one = One(kind, [x, *[nothing if computed else Const(nothing)] * count], [((), dtype)],
              "StridedSliceOptions" if kind == "STRIDED_SLICE" else None)
    (result,) = one.run()
    assert result.dtype == dtype and result.tolist() == [x.item()]
    interpreter = nnfast.Interpreter(model_content=one.file())
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    assert found.shape == () and found == x


@pytest.mark.parametrize("start, limit, delta", [(0, np.inf, 1), (0, np.nan, 1), (np.inf, 0, -1), (0, 5, 0), (5, 0, 1)])
@pytest.mark.parametrize("known", [True, False])
def test_ranges_without_an_end(start, limit, delta, known):
    values = [np.array(value, np.float32) for value in (start, limit, delta)]
    with pytest.raises(nnfast.Error, match="RANGE .*delta"):
        One("RANGE", [Const(value) if known else value for value in values], [((5,), "float32")]).run()


@pytest.mark.parametrize("kind, first, wrong", [
    ("GATHER_ND", [[0, 1], [1, 2]], [[0, 1], [1, 3]]), ("GATHER_ND", [[0, 1], [1, 2]], [[-1, 0], [0, 0]]),
    ("GATHER_ND", [[0, 1], [1, 2]], [[0, 1 << 40], [0, 0]]), ("GATHER", [1, 0], [1, 2]), ("GATHER", [1, 0], [-1, 0]),
])
def test_indices_outside_are_refused_as_it_runs(kind, first, wrong):
    first = np.array(first)
    expected = F[tuple(first.T)] if kind == "GATHER_ND" else F[first]
    data = build([Tensor("x", F.shape), Tensor("i", first.shape, "int64"), Tensor("y", expected.shape)],
                 [Op(kind, ["x", "i"], ["y"])], ["x", "i"], ["y"])
    prepared = nnfast.Device().prepare(load(data))
    assert {row["kernel"] for row in prepared.explain().rows} == {"gather"}
    for _ in range(2):
        np.testing.assert_array_equal(prepared.run([F, first])[0], expected)
        with pytest.raises(GeneralFailure, match=r"indices\): has an index outside \[0, "):
            prepared.run([F, np.array(wrong)])


def test_gelu_both_ways():
    exact, = One("GELU", [X], [((6,), "float32")], "GeluOptions", {"Approximate": False}).run()
    close, = One("GELU", [X], [((6,), "float32")], "GeluOptions", {"Approximate": True}).run()
    assert exact[-1] == pytest.approx(2.9959502, abs=1e-6) and close[-1] == pytest.approx(2.9963627, abs=1e-6)


def test_the_model_names_the_extension_and_explain_the_operation():
    one = One("COS", [X], [((6,), "float32")])
    model = one.model()
    assert model.extensions[0][0] == NAME
    assert one.codes() == ["TFL_COS"]
    assert "TFL_COS" in str(nnfast.Device().prepare(model).explain())


def test_the_hal_does_not_offer_it():
    hal = nnfast.hal.v1_3.Device(nnfast.Device())
    assert hal.getSupportedExtensions()[1] == []


def test_models_of_the_standard_name_no_extension():
    assert One("ABS", [X], [((6,), "float32")]).model().extensions == ()


def test_types_of_our_own_at_the_border():
    data = build([Tensor("x", (2,), "int64"), Tensor("y", (2,), "int64")], [Op("SIGN", ["x"], ["y"])], ["x"], ["y"])
    prepared = nnfast.Device().prepare(load(data))
    assert prepared.inputs[0].dtype == np.int64
    assert prepared.run([np.array([-5, 1 << 40])])[0].tolist() == [-1, 1]


def test_a_cache_keeps_them(tmp_path):
    model = One("COS", [X], [((6,), "float32")]).model()
    for _ in range(2):
        prepared = nnfast.Device().prepare(model, cache_dir=str(tmp_path))
        assert prepared.run([X])[0][2] == 1


def test_all_refusals_at_once():
    tensors = [Tensor(name, (2,)) for name in "xyzw"]
    ops = [Op("DELEGATE", ["x"], ["y"]), Op("COS", ["y"], ["z"]), Op("MyOp", ["z"], ["w"])]
    with pytest.raises(UnsupportedOperator) as caught:
        load(build(tensors, ops, ["x"], ["w"]))
    error = caught.value
    assert (error.operator, error.index, [index for _, index, _ in error.others]) == ("DELEGATE", 0, [2])
    assert "operator[0] DELEGATE" in str(error) and "operator[2] CUSTOM 'MyOp'" in str(error)


def test_resolved_operations_are_definitions():
    (operation,) = resolve(One("COS", [X], [((6,), "float32")]).model(), {}).main.operations
    assert operation.type.op.name == "TFL_COS"


@pytest.mark.parametrize("x, y, flags", [
    ((2, 3, 4, 5), (5, 6), (False, False)), ((2, 3, 4, 5), (1, 6, 5), (False, True)),
    ((1, 2, 3, 4, 5), (1, 2, 3, 5, 7), (False, False)), ((1, 2, 2, 5, 4), (1, 2, 2, 7, 5), (True, True)),
    ((2, 3, 5, 4), (5, 6), (True, False)), ((4, 5), (3, 5, 6), (False, False)), ((4, 5), (3, 6, 5), (False, True)),
    ((2, 4, 1, 2), (1, 4, 2, 4), (False, False)), ((2, 4, 3, 2), (4, 2, 5), (False, False)),
    ((3, 1, 4, 5), (1, 2, 5, 6), (False, False)), ((3, 1, 5, 4), (1, 2, 6, 5), (True, True)),
    ((2, 1, 3, 1, 4, 5), (2, 2, 1, 3, 5, 7), (False, False)),
])
@pytest.mark.parametrize("kept", [Const, np.asarray])
def test_products_of_matrices_in_batches(x, y, flags, kept):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-8, 9, shape).astype(np.float32) for shape in (x, y))
    wanted = np.matmul(*(np.swapaxes(m, -1, -2) if flag else m for m, flag in zip((a, b), flags)))
    one = One("BATCH_MATMUL", [a, kept(b)], [(wanted.shape, "float32")], "BatchMatMulOptions",
              {"AdjX": flags[0], "AdjY": flags[1]})
    assert one.run()[0].tolist() == wanted.tolist()
    assert nnfast.Device().prepare(one.model()).explain().native


@pytest.mark.parametrize("kind", ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
def test_resize_to_a_computed_size(kind):
    x, size = F.reshape(1, 2, 3, 4), np.array([4, 6], np.int32)
    outputs = [((1, 4, 6, 4), "float32")]
    known, = One(kind, [x, Const(size)], outputs).run()
    computed, = One(kind, [x, size], outputs).run()
    assert (known == computed).all()


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "bool"])
@pytest.mark.parametrize("is_known", [True, False])
def test_nearest_values_of_any_type(kind, is_known):
    x, size = (F.reshape(1, 2, 3, 4) > 0).astype(kind), np.array([4, 6], np.int32)
    one = One("RESIZE_NEAREST_NEIGHBOR", [x, Const(size) if is_known else size], [((1, 4, 6, 4), kind)])
    np.testing.assert_array_equal(one.run()[0], x.repeat(2, 1).repeat(2, 2))


@pytest.mark.parametrize("source", ["float16", "float32"])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
def test_cast_keeps_floats_within_the_integers(source, kind):
    x = np.array([-np.inf, -40000, -129.5, -1.5, -0.5, 1.9, 127.9, 255.9, 40000, np.inf, np.nan], source)
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    wanted = np.trunc(np.clip(np.where(np.isnan(x), np.inf, x.astype(float)), low, high))
    (result,) = One("CAST", [x], [(x.shape, kind)]).run()
    assert result.dtype == kind and result.tolist() == wanted.tolist()


def flattening():
    """x -> SHAPE -> STRIDED_SLICE [0] -> PACK with -1 -> RESHAPE of x; the file's x has 2 rows, any number will do."""
    tensors = [
        Tensor("x", (2, 3, 2), signature=(-1, 3, 2)), Tensor("s", (3,), "int32"), Tensor("n", (), "int32"),
        Tensor.of("a", np.array([0], np.int32)), Tensor.of("b", np.array([1], np.int32)),
        Tensor.of("rest", np.array(-1, np.int32)), Tensor("t", (2,), "int32"), Tensor("y", (2, 6)),
    ]
    ops = [
        Op("SHAPE", ["x"], ["s"], "ShapeOptions", {"OutType": 2}),
        Op("STRIDED_SLICE", ["s", "a", "b", "b"], ["n"], "StridedSliceOptions", {"ShrinkAxisMask": 1}),
        Op("PACK", ["n", "rest"], ["t"], "PackOptions", {"ValuesCount": 2}), Op("RESHAPE", ["x", "t"], ["y"]),
    ]
    return build(tensors, ops, ["x"], ["y"])


@pytest.mark.parametrize("key", ["x", 0])
def test_shapes_that_are_given_at_load_leave_one_reshape(key):
    x = np.arange(30, dtype=np.float32).reshape(5, 3, 2)
    model = load(flattening(), input_shapes={key: x.shape})
    assert [op.type.name for op in model.main.operations] == ["RESHAPE"] and model.extensions == ()
    assert nnfast.Device().prepare(model).run([x])[0].tolist() == x.reshape(5, 6).tolist()


@pytest.mark.parametrize("given, reason", [
    ({"z": (1,)}, "no input 'z'"), ({1: (1,)}, "no input 1"),
    ({"x": (-1, 3, 2)}, "at least 0"), ([(1,)], "must be a dict"),
])
def test_wrong_shapes_at_load(given, reason):
    with pytest.raises(InvalidArgument, match=reason):
        load(flattening(), input_shapes=given)


def test_a_zero_point_beyond_32_bits_is_refused():
    x = np.zeros(2, np.int16)
    with pytest.raises(UnsupportedOperator, match="must fit 32 bits"):
        One("QUANTIZE", [x], [((2,), "int32")], quants={"i0": (0.5, 0), "o0": (0.25, 1 << 40)}).model()


def test_a_wrong_type_is_found_without_listing_all_that_fit(monkeypatch):
    def listed(signature):
        raise AssertionError("the product of the types of all operands")

    inputs = [np.int32([0, 2]), np.int32([3]), Const(np.float32(1)), Const(np.float32(0))]
    One("ONE_HOT", inputs, [((2, 3), "float32")], "OneHotOptions", {"Axis": -1}).model()  # which loads its definition
    inputs[1] = np.float32([3])
    monkeypatch.setattr(Choices, "sets", property(listed))
    with pytest.raises(UnsupportedOperator, match=r"input 1 \(depth\): type TENSOR_FLOAT32, must be INT32, "):
        One("ONE_HOT", inputs, [((2, 3), "float32")], "OneHotOptions", {"Axis": -1}).model()
