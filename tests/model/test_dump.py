"""GraphDump [NN 12.7], piece by piece, and as `dot` takes it."""

import shutil
import subprocess

import numpy as np
import pytest

import nnfast
from nnfast.model.dump import to_dot

FLOAT = "TENSOR_FLOAT32"


def small():
    """y = x + constant, then split in two."""
    b = nnfast.ModelBuilder("two\nlines")
    x, weak = b.input(FLOAT, (2, 3)), b.constant(np.ones((2, 3), np.float32))
    total = b.operand(FLOAT, (2, 3))
    y, z = b.output(FLOAT, (2, 0)), b.output(FLOAT, (2, 0))
    b.operation("ADD", [x, weak, b.scalar(3)], [total])
    b.operation("SPLIT", [total, b.scalar(1), b.scalar(2)], [y, z])
    return b.operation("RELU", [total], [b.output(FLOAT, (2, 3))]).build()


def test_12_7_exact_text():
    assert to_dot(small()) == """\
// two lines
digraph {
    d0 [style=filled fillcolor=black fontcolor=white label="0 = input[0]\\nTF32(2x3)"]
    d1 [label="1: COPY\\nTF32(2x3)"]
    d2 [label="2\\nTF32(2x3)"]
    d3 [style=filled fillcolor=black fontcolor=white label="3 = output[0]\\nTF32(2x0)"]
    d4 [style=filled fillcolor=black fontcolor=white label="4 = output[1]\\nTF32(2x0)"]
    d5 [label="5: COPY\\nI32 = 3"]
    d6 [label="6: COPY\\nI32 = 1"]
    d7 [label="7: COPY\\nI32 = 2"]
    d8 [style=filled fillcolor=black fontcolor=white label="8 = output[2]\\nTF32(2x3)"]
    n0 [shape=box ordering=in label="0: ADD"]
    d0 -> n0 [label=0]
    d1 -> n0 [label=1]
    d5 -> n0 [label=2]
    n0 -> d2
    n1 [shape=box ordering=in label="1: SPLIT"]
    d2 -> n1 [label=0]
    d6 -> n1 [label=1]
    d7 -> n1 [label=2]
    n1 -> d3 [label=0]
    n1 -> d4 [label=1]
    n2 [shape=box label="2: RELU"]
    d2 -> n2
    n2 -> d8
}
"""


@pytest.mark.parametrize("value, text", [
    (1.5, "F32 = 1.5"), (1e-30, "F32 = 1e-30"), (float("nan"), "F32 = nan"), (-7, "I32 = -7"),
    (np.uint32(4), "U32 = 4"), (True, "BOOL"), (np.float16(2), "FLOAT16")])
def test_12_7_values_of_scalars(value, text):
    b = nnfast.ModelBuilder()
    b.scalar(value)
    x, y = b.input("TENSOR_QUANT8_ASYMM", (), 0.5, 3), b.output("TENSOR_QUANT8_ASYMM", (), 0.5, 3)
    dot = to_dot(b.operation("RELU", [x, ], [y]).build(), "named")
    assert dot.startswith("// named\n") and f'd0 [label="0: COPY\\n{text}"]' in dot
    assert 'label="1 = input[0]\\nTQ8A"' in dot  # of unknown rank


def test_12_7_more_outputs_than_inputs_order_outputs():
    b = nnfast.ModelBuilder()
    x, k = b.input(FLOAT, (4,)), b.scalar(2)
    outputs = [b.output(FLOAT, (2,)), b.output("TENSOR_INT32", (2,))]
    assert " ordering=in " in to_dot(b.operation("TOPK_V2", [x, k], outputs).build())
    b = nnfast.ModelBuilder()
    x = b.input(FLOAT, (4,))
    outputs = [b.output(FLOAT, (1,)) for _ in range(4)]
    b.operation("SPLIT", [x, b.scalar(0), b.scalar(4)], outputs)
    assert 'n0 [shape=box ordering=out label="0: SPLIT"]' in to_dot(b.build())


def test_12_7_control_flow_and_omitted_inputs():
    branches = []
    for operation in ("RELU", "TANH"):
        inner = nnfast.ModelBuilder()
        x, y = inner.input(FLOAT, (2,)), inner.output(FLOAT, (2,))
        branches.append(inner.operation(operation, [x], [y]))
    b = nnfast.ModelBuilder("choice")
    condition, x, y = b.input("TENSOR_BOOL8", (1,)), b.input(FLOAT, (2,)), b.output(FLOAT, (2,))
    b.omitted(FLOAT)
    b.operation("IF", [condition, b.subgraph(branches[0]), b.subgraph(branches[1]), x], [y])
    dot = to_dot(b.build())
    assert "    // NOTE: 2 subgraphs omitted\n    // " in dot
    assert 'd3 [label="3: NO\\nTF32"]' in dot and dot.count(": SUBGRAPH\\nSUBGRAPH") == 2
    assert 'label="0: IF"' in dot and "RELU" not in dot


def test_12_7_types_and_operations_without_a_short_name():
    b = nnfast.ModelBuilder("vendor")
    x = b.input(b.extension_code("com.example.money", 3), (2,))
    y, z = b.output("TENSOR_OEM_BYTE", (4,)), b.output("TENSOR_FLOAT16", (2,))
    dot = to_dot(b.operation(b.extension_code("com.example.money", 1), [x], [y, z]).build())
    assert 'label="0 = input[0]\\nextension type 0x00010003(2)"' in dot and "TOEMB(4)" in dot
    assert 'n0 [shape=box ordering=out label="0: extension operation 0x00010001"]' in dot


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
def test_dot_takes_the_text():
    done = subprocess.run(["dot", "-Tsvg"], input=to_dot(small()), capture_output=True, text=True, check=True)
    assert done.stdout.count('class="node"') == 12 and done.stdout.count('class="edge"') == 11 and not done.stderr
