"""Layer normalization in its operations is one step, where nothing else needs what lies between."""

import numpy as np
import pytest

import nnfast
from helpers.normalized import BETA, GAMMA, normalized
from helpers.steps import at_level, every_level

NAME = "layer_norm_fusion"

FORMS = [("folded", "gamma beta"), *((form, parts) for form in ("times", "divided")
                                     for parts in ("", "gamma", "beta", "gamma beta"))]


def inputs_of(prepared):
    rng = np.random.default_rng(4)
    return [rng.uniform(1, 9, info.shape).astype(np.float32) for info in prepared.inputs]


def check(model, threads=1, tolerance=5e-6):
    """With and without the pass the results differ by no more than this, relative to the largest."""
    one, two = nnfast.Device(threads).prepare(model), nnfast.Device(threads, without_passes=[NAME]).prepare(model)
    assert NAME not in two.explain().passes
    x = inputs_of(one)
    for found, wanted in zip(one.run(x), two.run(x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * max(1, np.abs(wanted).max()))
    return one, x


@pytest.mark.parametrize("shape", [(2, 7, 40), (1, 3, 3, 17), (33, 1), (1, 40), (5,)])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("form", "parts"), FORMS)
def test_one_step(form, parts, swapped, shape):
    prepared, (x,) = check(normalized(form, shape, parts, swapped), tolerance=2e-5)  # rows of one value have no spread
    explained = prepared.explain()
    assert NAME in explained.passes
    kernels = [row["kernel"] for row in explained.rows if row["joined"] is None]
    assert len(kernels) == 1 and "nnf_layer_norm" in kernels[0]
    exact = x.astype(np.float64)
    wanted = (exact - exact.mean(-1, keepdims=True)) / np.sqrt(exact.var(-1, keepdims=True) + 1e-3)
    wanted = wanted * GAMMA[:shape[-1]] if "gamma" in parts else wanted
    wanted = wanted + BETA[:shape[-1]] if "beta" in parts else wanted
    np.testing.assert_allclose(prepared.run([x])[0], wanted, rtol=0, atol=2e-5)


@every_level
@pytest.mark.parametrize(("form", "parts"), FORMS)
def test_at_each_level_and_on_more_threads(form, parts, level):
    model = normalized(form, (3, 300, 33), parts)
    with at_level(level):
        one, x = check(model)
        for threads in (2, 3):
            assert nnfast.Device(threads).prepare(model).run(x)[0].tobytes() == one.run(x)[0].tobytes()


@pytest.mark.parametrize("name", ["mean", "centred", "square", "variance", "moved", "root", "factor", "scaled", "shift",
                                  "offset"])
def test_what_others_see_is_there(name):
    prepared, _ = check(normalized("folded", seen=[name]))
    assert "nnf_layer_norm" not in str(prepared.explain())


@pytest.mark.parametrize("name", ["mean", "centred", "variance", "root", "factor", "offset"])
def test_what_others_read_is_there(name):
    prepared, _ = check(normalized("folded", (3000, 40), read=[name]))
    assert "nnf_layer_norm" not in str(prepared.explain())


@pytest.mark.parametrize("change", [
    {"gamma": [2.0]}, {"gamma": np.linspace(1, 2, 7)[:, None]}, {"gamma": np.linspace(1, 2, 280).reshape(7, 40)},
    {"epsilon": np.linspace(1, 2, 40)}, {"epsilon": np.linspace(1, 2, 7)[:, None]}], ids=str)
def test_factors_of_other_shapes_stay(change):
    prepared, _ = check(normalized("folded", **change))
    assert "nnf_layer_norm" not in str(prepared.explain())


@pytest.mark.parametrize("change", [{"axis": 1}, {"activation": 1}, {"between": 1}, {"is_computed": True}])
def test_what_is_nearly_that_stays(change):
    prepared, _ = check(normalized("folded", **change))
    assert "nnf_layer_norm" not in str(prepared.explain())


def test_a_normalization_ends_before_an_activation():
    prepared, _ = check(normalized("times", activation=1))
    kernels = [row["kernel"] for row in prepared.explain().rows if row["joined"] is None]
    assert len(kernels) == 2 and "nnf_layer_norm" in kernels[0] and "nnf_add" in kernels[1]


def test_infinities_and_nans_spread_as_before():
    model = normalized("times", (4, 40))
    one, two = nnfast.Device(1).prepare(model), nnfast.Device(1, without_passes=[NAME]).prepare(model)
    x = np.ones((4, 40), np.float32)
    x[1, 3], x[2, 5], x[3] = np.nan, np.inf, 1e30
    np.testing.assert_array_equal(np.isnan(one.run([x])[0]), np.isnan(two.run([x])[0]))


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("form", ["folded", "times", "divided"])
def test_means_that_go_along_other_elements_stay(form, swapped):
    """Of as many rows as columns, without the dimension that was reduced."""
    prepared, _ = check(normalized(form, (7, 7), swapped=swapped, keeps=False))
    assert "nnf_layer_norm" not in str(prepared.explain())
