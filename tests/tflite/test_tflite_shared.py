"""All shared models: what is translated agrees with what the tflite package reads, and every operation can run."""

from collections import Counter

import numpy as np
import pytest
import tflite
from tflite.utils import opcode2name

from helpers.shared import MODELS
from nnfast.compiler.check import check_model, unsupported
from nnfast.compiler.resolve import resolve
from nnfast.model.types import LifeTime, operation_name
from nnfast.tflite import load

FILES = sorted(MODELS.rglob("*.tflite"))
STATES = {"asr_like_f32": 10, "tts_like_f32": 7, "tts_seq32_f32": 7, "tts_float": 7}

pytestmark = pytest.mark.skipif(not FILES, reason="no shared models (NNFAST_SHARED)")


def operators(graph, model):
    """(name, operator) of each operator of a file."""
    for k in range(graph.OperatorsLength()):
        operator = graph.Operators(k)
        code = model.OperatorCodes(operator.OpcodeIndex())
        yield opcode2name(max(code.BuiltinCode(), code.DeprecatedBuiltinCode())), operator


def test_all_models_are_there():
    assert len(FILES) == 26


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shared_model(path):
    model = load(path)
    check_model(model)
    assert unsupported(resolve(model, {})) == {}
    assert model.name == path.stem and len(model.states) == STATES.get(path.stem, 0)

    file = tflite.Model.GetRootAsModel(path.read_bytes(), 0)
    graph = file.Subgraphs(0)
    expected = Counter()
    for name, operator in operators(graph, file):
        weights = graph.Tensors(operator.Inputs(1)) if operator.InputsLength() > 1 else None
        rank = graph.Tensors(operator.Outputs(0)).ShapeLength()
        if name == "FULLY_CONNECTED" and weights.Quantization() and weights.Quantization().ScaleLength() > 1:
            expected["TFL_FULLY_CONNECTED"] += 1
        elif name == "FULLY_CONNECTED" and rank > 2:
            expected.update([name, "RESHAPE"])
        else:
            expected[name] += 1
    assert expected == Counter(operation_name(op.type) for op in resolve(model, {}).main.operations)

    operands = model.main.operands
    for role, indexes, count in (("Inputs", model.main.inputs, graph.InputsLength()),
                                 ("Outputs", model.main.outputs, graph.OutputsLength())):
        assert len(indexes) == count + len(model.states)
        for k in range(count):
            tensor = graph.Tensors(getattr(graph, role)(k))
            operand = operands[indexes[k]]
            assert operand.name == tensor.Name().decode()
            assert operand.dims == tuple(tensor.ShapeAsNumpy()) or not tensor.ShapeLength()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shared_weights_are_views_of_one_copy(path):
    """Every constant equals the file's buffer of that name and is a view of the one copy of the file."""
    file = tflite.Model.GetRootAsModel(path.read_bytes(), 0)
    graph = file.Subgraphs(0)
    buffers = {}
    for k in range(graph.TensorsLength()):
        tensor = graph.Tensors(k)
        buffers[tensor.Name().decode()] = file.Buffers(tensor.Buffer()).DataAsNumpy() if tensor.Buffer() else None
    named = [o for o in load(path).main.operands if o.lifetime == LifeTime.CONSTANT_REFERENCE and o.name]
    assert named
    for operand in named:
        np.testing.assert_array_equal(operand.data.reshape(-1).view(np.uint8), buffers[operand.name])
        assert not operand.data.flags.owndata and not operand.data.flags.writeable
