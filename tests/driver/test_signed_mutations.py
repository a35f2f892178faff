"""Cache files that are wrong behind a right signature: refused as one error, or a model that computes something."""

import msgspec
import numpy as np
import pytest

import nnfast
from nnfast._native import engine, threads
from nnfast.driver import stored_model
from nnfast.errors import GeneralFailure, InternalError
from nnfast.fuzz import signed
from nnfast.fuzz.signed import Mutator, models
from nnfast.model.records import Data
from nnfast.model.withheld import Withheld

ROUNDS = 60


def survive(mutator, seeds, **changes):
    """Load and run changed files; how many of them loaded."""
    loaded = 0
    for seed in seeds:
        try:
            prepared = mutator.load(seed, **changes)
            loaded += 1
            if [(i.shape, i.dtype) for i in prepared.inputs] == [(x.shape, x.dtype) for x in mutator.inputs]:
                prepared.run(mutator.inputs)
        except nnfast.Error as error:
            assert not isinstance(error, InternalError)
            assert "\n" not in str(error) and len(str(error)) <= 1000, str(error)
    return loaded


@pytest.mark.parametrize("is_planned_meanwhile", [False, True])
@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_every_way_of_packing_comes_back(device, model, is_planned_meanwhile):
    """Byte for byte, through the same kernels, and without the large constants that only packing reads."""
    stored, mutator = device.prepare(model), Mutator(device, model)
    loaded = mutator.load(int(is_planned_meanwhile), head_changes=0)
    assert str(loaded.explain()) == str(stored.explain())
    rng = np.random.default_rng(1)
    x = [(4 * rng.random(i.shape)).astype(i.dtype) for i in stored.inputs]
    for a, b in zip(loaded.run(x), stored.run(x), strict=True):
        assert a.tobytes() == b.tobytes()
    left_out = {o.dims for o in loaded.model.main.operands if isinstance(o.data, Withheld)}
    large = {o.dims for o in model.main.operands if o.data is not None and o.data.nbytes >= 4096}
    assert left_out == (set() if model.name == "winograd" else large)  # whose step reads the filter, too


@pytest.fixture
def planned_first():
    """No worker reads: plans are made before a byte of the data file is there, over memory full of 0xFF."""
    before, byte = threads.limit(), engine.poison()
    threads.set_limit(0)
    engine.set_poison(0xFF)
    yield
    threads.set_limit(before)
    engine.set_poison(byte)


@pytest.mark.skipif(threads.available() < 2, reason="one processor: the file is read before planning")
@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_planning_reads_nothing_of_the_data_file(device, model, planned_first, monkeypatch):
    stored, mutator, seen = device.prepare(model), Mutator(device, model), []
    unpack = stored_model.unpack
    monkeypatch.setattr(stored_model, "unpack", lambda content, data, count, is_late, source: (
        seen.append((is_late, bytes(data[:8]))), unpack(content, data, count, is_late, source))[1])
    loaded = mutator.load(1, head_changes=0)
    assert seen == [(True, b"\xff" * 8)] or model.name in ("winograd", "tables"), seen
    assert str(loaded.explain()) == str(stored.explain())
    x = [(4 * np.random.default_rng(1).random(i.shape)).astype(i.dtype) for i in stored.inputs]
    for a, b in zip(loaded.run(x), stored.run(x), strict=True):
        assert a.tobytes() == b.tobytes()


SHAPE, PACKED, PLAN = (record.__struct_fields__.index(name) for record, name in (
    (Data, "shape"), (stored_model.Content, "packed"), (stored_model.Content, "plan")))


@pytest.mark.parametrize("model", [m for m in models() if m.name != "parts"], ids=lambda model: model.name)
def test_packed_arrays_of_another_size(device, model, monkeypatch):
    """Of a file without a plan: whoever finds it, the check or the step, the file is refused; it is no bug of ours."""
    mutator = Mutator(device, model)
    rows = msgspec.msgpack.decode(mutator.head)[1][PACKED]
    assert rows  # all but "parts" have some
    for place, row in enumerate(rows):
        def spoil(content, rng, place=place, size=row[SHAPE][0]):
            content[PLAN], content[PACKED][place][SHAPE] = None, [size // 2]

        monkeypatch.setattr(signed, "change", spoil)
        with pytest.raises(GeneralFailure, match="^compilation cache: .* prepare the model from its source$"):
            mutator.load(0)


@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_changed_heads_and_arrays(device, model):
    mutator = Mutator(device, model)
    assert survive(mutator, [0], head_changes=0) == 1
    survive(mutator, range(ROUNDS))
    survive(mutator, range(ROUNDS), head_changes=3, data_changes=3)
    survive(mutator, range(ROUNDS), head_changes=0, data_changes=8)
