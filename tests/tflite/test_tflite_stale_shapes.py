"""Files that declare other shapes for results than follow from the inputs: as in LiteRT, these do not count."""

import numpy as np
import pytest

import nnfast
from helpers.litert_models import litert_outputs
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast.errors import UnsupportedOperator
from nnfast.tflite import load

RANDOM = np.random.default_rng(31)
WINDOW = {"StrideW": 1, "StrideH": 1, "Padding": 1}


def reals(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def prepared(data, **options):
    return nnfast.Device(num_threads=1).prepare(load(data, **options))


def interpreted(data, *inputs):
    it = nnfast.Interpreter(model_content=data)
    it.allocate_tensors()
    for details, array in zip(it.get_input_details(), inputs):
        it.set_tensor(details["index"], array)
    it.invoke()
    return [it.get_tensor(details["index"]) for details in it.get_output_details()]


def check(folder, data, inputs, wanted):
    """Both ways give these values, and LiteRT does where it is installed."""
    model = prepared(data)
    found = model.run([x.reshape(x.shape or (1,)) for x in inputs])
    theirs = litert_outputs(folder, data, [inputs])
    for k, value in enumerate(wanted):
        assert model.outputs[k].shape == found[k].shape == value.shape
        np.testing.assert_allclose(found[k], value, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(interpreted(data, *inputs)[k].reshape(value.shape), found[k])
        if theirs is not None:
            np.testing.assert_allclose(found[k], theirs[0][k].reshape(value.shape), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("declared", [(7, 3), (3, 2), (6,), (1, 2, 3), (1, 1)])
def test_add(declared, tmp_path):
    x, y = reals(2, 3), reals(2, 3)
    data = build([Tensor("x", (2, 3)), Tensor("y", (2, 3)), Tensor("z", declared)],
                 [Op("ADD", ["x", "y"], ["z"], "AddOptions")], ["x", "y"], ["z"])
    check(tmp_path, data, [x, y], [x + y])


def network(stale):
    """(file, inputs, results): convolution, pool, rows, a product that keeps its dimensions, and the signs of two."""
    image, filters, weights = reals(2, 4, 4, 2), reals(3, 1, 1, 2), reals(5, 3)

    def result(name, *shape):
        return Tensor(name, shape[::-1] if stale else shape)

    tensors = [
        Tensor("image", image.shape), Tensor.of("filters", filters), Tensor.of("bias", np.ones(3, np.float32)),
        result("conv", 2, 4, 4, 3), result("pool", 2, 2, 2, 3), Tensor.of("rows", np.array([1, 2, 4, 3], np.int32)),
        result("flat", 1, 2, 4, 3), result("squeezed", 2, 4, 3), Tensor.of("weights", weights),
        result("dense", 2, 4, 5), result("joined", 2, 8, 5), result("sign", 2, 8, 5),
    ]
    operators = [
        Op("CONV_2D", ["image", "filters", "bias"], ["conv"], "Conv2DOptions", WINDOW),
        Op("MAX_POOL_2D", ["conv"], ["pool"], "Pool2DOptions",
           {"StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2, "Padding": 1}),
        Op("RESHAPE", ["pool", "rows"], ["flat"]),
        Op("SQUEEZE", ["flat"], ["squeezed"], "SqueezeOptions", {"SqueezeDims": [0]}),
        Op("FULLY_CONNECTED", ["squeezed", "weights", None], ["dense"], "FullyConnectedOptions",
           {"KeepNumDims": True}),
        Op("CONCATENATION", ["dense", "dense"], ["joined"], "ConcatenationOptions", {"Axis": 1}),
        Op("SIGN", ["joined"], ["sign"]),
    ]
    conv = image @ filters.reshape(3, 2).T + 1
    pool = conv.reshape(2, 2, 2, 2, 2, 3).max((2, 4))
    dense = pool.reshape(2, 4, 3) @ weights.T
    return build(tensors, operators, ["image"], ["conv", "sign"]), [image], \
        [conv, np.sign(np.concatenate([dense, dense], 1))]


def test_chain_of_operators(tmp_path):
    data, inputs, wanted = network(True)
    check(tmp_path, data, inputs, wanted)
    plans = [[row["kernel"] for row in prepared(file).explain().rows] for file in (data, network(False)[0])]
    assert plans[0] == plans[1]


@pytest.mark.parametrize("keep, shape", [(True, (2, 3, 4)), (False, (6, 4))])
def test_fully_connected_gives_the_dimensions_of_its_option(keep, shape, tmp_path):
    x, w = reals(2, 3, 5), reals(4, 5)
    data = build([Tensor("x", x.shape), Tensor.of("w", w), Tensor("y", (3, 2, 4))],
                 [Op("FULLY_CONNECTED", ["x", "w", None], ["y"], "FullyConnectedOptions", {"KeepNumDims": keep})],
                 ["x"], ["y"])
    check(tmp_path, data, [x], [(x @ w.T).reshape(shape)])


@pytest.mark.parametrize("axes, shape", [([], (2, 3)), ([0], (2, 1, 3)), ([-2], (1, 2, 3))])
def test_squeeze_gives_the_dimensions_of_its_option(axes, shape, tmp_path):
    x = reals(1, 2, 1, 3)
    data = build([Tensor("x", x.shape), Tensor("y", (3, 2))],
                 [Op("SQUEEZE", ["x"], ["y"], "SqueezeOptions", {"SqueezeDims": axes})], ["x"], ["y"])
    check(tmp_path, data, [x], [x.reshape(shape)])


def loop(outer, inner, result):
    """k, x = k + 1, x + x while k < 3; shapes of x outside, of the subgraphs' inputs and of results."""
    test = ([Tensor("k", (), "int32"), Tensor("x", inner), Tensor.of("limit", np.array(3, np.int32)),
             Tensor("t", (), "bool")], [Op("LESS", ["k", "limit"], ["t"])], ["k", "x"], ["t"])
    body = ([Tensor("k", (), "int32"), Tensor("x", inner), Tensor.of("one", np.array(1, np.int32)),
             Tensor("n", (), "int32"), Tensor("y", result)],
            [Op("ADD", ["k", "one"], ["n"], "AddOptions"), Op("ADD", ["x", "x"], ["y"], "AddOptions")],
            ["k", "x"], ["n", "y"])
    tensors = [Tensor("k", (), "int32"), Tensor("x", outer), Tensor("n", (), "int32"), Tensor("y", result),
               Tensor("z", result)]
    operators = [Op("WHILE", ["k", "x"], ["n", "y"], "WhileOptions", {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}),
                 Op("NEG", ["y"], ["z"])]
    return build(tensors, operators, ["k", "x"], ["n", "z"], others=[test, body])


@pytest.mark.parametrize("inner, result", [((2, 3), (5, 3)), ((4, 3), (2, 3)), ((3, 2), (6,))])
def test_while(inner, result, tmp_path):
    x = reals(2, 3)
    check(tmp_path, loop((2, 3), inner, result), [np.array(1, np.int32), x], [np.array([3], np.int32), -4 * x])


def test_subgraphs_take_the_shapes_that_load_gives():
    x = reals(5, 3)
    model = prepared(loop((2, 3), (2, 3), (2, 3)), input_shapes={"x": (5, 3)})
    np.testing.assert_array_equal(model.run([np.array([1], np.int32), x])[1], -4 * x)


def test_a_subgraph_that_is_run_with_several_shapes(tmp_path):
    then = [Tensor("x", (7,)), Tensor("y", (7,))], [Op("ABS", ["x"], ["y"])], ["x"], ["y"]
    other = [Tensor("x", (7,)), Tensor("y", (1,))], [Op("NEG", ["x"], ["y"])], ["x"], ["y"]
    fields = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}
    tensors = [Tensor("c", (), "bool"), Tensor("a", (2,)), Tensor("b", (3,)), Tensor("p", (4,)), Tensor("q", (4,))]
    operators = [Op("IF", ["c", "a"], ["p"], "IfOptions", fields), Op("IF", ["c", "b"], ["q"], "IfOptions", fields)]
    data = build(tensors, operators, ["c", "a", "b"], ["p", "q"], others=[then, other])
    a, b = reals(2), reals(3)
    check(tmp_path, data, [np.array(False), a, b], [-a, -b])


def test_a_loop_that_changes_a_shape_is_refused():
    body = ([Tensor("x", (2, 3)), Tensor("y", (2, 3))],
            [Op("CONCATENATION", ["x", "x"], ["y"], "ConcatenationOptions", {"Axis": 0})], ["x"], ["y"])
    test = ([Tensor("x", (2, 3)), Tensor.of("t", np.array(False))], [], ["x"], ["t"])
    data = build([Tensor("x", (2, 3)), Tensor("y", (2, 3))],
                 [Op("WHILE", ["x"], ["y"], "WhileOptions", {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})],
                 ["x"], ["y"], others=[test, body])
    with pytest.raises(UnsupportedOperator, match=r"value 0 of the body .*\[2, 3\].*\[4, 3\]"):
        load(data)


def test_a_model_by_hand_must_declare_what_follows():
    b = nnfast.ModelBuilder()
    x, y = b.input("TENSOR_FLOAT32", (2, 3)), b.output("TENSOR_FLOAT32", (7, 3))
    b.operation("ABS", [x], [y])
    model = b.build()
    with pytest.raises(nnfast.Error, match=r"shape is \[2, 3\], the model declares \[7, 3\]"):
        nnfast.Device().prepare(model)
