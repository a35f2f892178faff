"""What was found right of a model is kept with it, and with nothing else."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import nnfast
from nnfast.compiler.check import check_model
from nnfast.errors import InvalidArgument
from nnfast.model import proof
from nnfast.model.types import Model
from nnfast.model.validate import validate_model

F32 = "TENSOR_FLOAT32"


def built(weights=None):
    b = nnfast.ModelBuilder()
    x, y = b.input(F32, (1, 4)), b.output(F32, (1, 4))
    w = b.constant(np.ones((1, 4), np.float32) if weights is None else weights)
    b.operation("ADD", [x, w, b.scalar(0)], [y])
    return b.build()


def looks(model, **options):
    """Parts of a model that a check looks at."""
    seen = []
    check_model(model, go_on=seen.append, **options)
    return len(seen)


def test_nothing_is_looked_at_twice():
    model = built().with_main()
    first = looks(model)
    assert first > 4 and looks(model) == 0
    assert nnfast.Device().prepare(model).run([np.ones((1, 4), np.float32)])[0].tolist() == [[2, 2, 2, 2]]


def test_the_builder_proves_the_structure_alone():
    assert 0 < looks(built()) < looks(built().with_main())


def test_copies_are_checked_themselves():
    model = built()
    check_model(model)
    for other in (replace(model), replace(model, relaxed=True), pickle.loads(pickle.dumps(model)), copy.deepcopy(model),
                  copy.copy(model), Model(model.main)):
        assert other.proof is None and looks(other) == looks(built().with_main())
    broken = model.with_main(outputs=())
    with pytest.raises(InvalidArgument, match="SUBGRAPH_OUTPUT but is not in"):
        validate_model(broken)
    assert broken.proof is None


def test_a_later_version_says_what_it_is_for():
    b = nnfast.ModelBuilder()
    x, y = b.input(F32, (1, 4)), b.output(F32, (1, 4))
    b.operation("ABS", [x], [y])
    model = b.build()
    assert check_model(model) == "1.2" == check_model(model, "1.2")
    with pytest.raises(InvalidArgument, match="operation.0. ABS: this form of the operation came with HAL 1.2"):
        check_model(model, "1.1")


@pytest.mark.parametrize("part", ["operands", "operations", "inputs"])
def test_what_can_change_has_no_proof(part):
    """Lists are as good as tuples, but nobody knows for how long."""
    model = built()
    model = model.with_main(**{part: list(getattr(model.main, part))})
    validate_model(model)
    assert model.proof is None


def test_arrays_that_can_change_have_no_proof():
    model, array = built(), np.ones((1, 4), np.float32)
    operands = tuple(replace(o, data=array) if o.is_constant and o.dims else o for o in model.main.operands)
    model = model.with_main(operands=operands)
    validate_model(model)
    assert model.proof is None
    array.flags.writeable = False
    validate_model(model)
    assert proof.of(model) is model.proof is not None
    array.resize((4, 1), refcheck=False)
    assert proof.of(model) is None
    with pytest.raises(InvalidArgument, match="data has shape"):
        validate_model(model)
