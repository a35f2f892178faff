"""Damaged files and unreadable paths: one clear line, never a crash, never much memory or time."""

import gc
import os
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.fuzz import judge, mutate, structure
from helpers.tflite.samples import CONV, quantized, samples
from nnfast.errors import InvalidArgument, UnsupportedOperator
from nnfast.tflite import load, verify

FILES = samples()
STRUCTURE = {name: structure(data) for name, data in FILES.items()}


def refusal(data):
    with pytest.raises(InvalidArgument) as caught:
        load(data)
    text = str(caught.value)
    assert text.startswith("model: ") and "\n" not in text
    return text


def relu(tensors=None, ops=None, inputs=("x",), outputs=("y",), **more):
    tensors = tensors or [Tensor("x", (2, 3)), Tensor("y", (2, 3))]
    return build(tensors, ops or [Op("RELU", ["x"], ["y"])], list(inputs), list(outputs), **more)


# -- what is read ----------------------------------------------------------------------------------------------------
def test_paths_that_cannot_be_read(tmp_path):
    for path, text in [
        (tmp_path / "none.tflite", "none.tflite: cannot be read: No such file"), (tmp_path, "is a directory"),
        ("a\0b", "cannot be read"), (7, "is an int, must be a path"), (None, "is None"),
    ]:
        with pytest.raises(InvalidArgument, match=text):
            load(path)
    fifo = tmp_path / "pipe.tflite"
    os.mkfifo(fifo)
    with pytest.raises(InvalidArgument, match="no regular file"):
        load(fifo)


def test_files_that_are_no_models(tmp_path):
    for content, text in [(b"", "is empty"), (b"TFL3", "is not a TFLite model"),
                          (b"\x89PNG" * 100, "is not a TFLite model"), (b"\x08\x07onnx" * 9, ".*no other formats")]:
        path = tmp_path / "picture.tflite"
        path.write_bytes(content)
        with pytest.raises(InvalidArgument, match=f"^picture.tflite: {text}"):
            load(path)


def test_unreadable_file(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(quantized())
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user reads everything")
    with pytest.raises(InvalidArgument, match="Permission denied"):
        load(path)


def test_weights_are_views_of_one_copy_of_the_file(tmp_path):
    path = tmp_path / "net.v1.tflite"
    path.write_bytes(quantized())
    model = load(str(path))
    assert model.name == "net.v1"
    weights = {o.name: o.data for o in model.main.operands if o.name in ("w", "b")}
    assert len(weights) == 2
    path.write_bytes(bytes(path.stat().st_size))
    del model
    gc.collect()
    assert not any(array.flags.writeable or array.flags.owndata for array in weights.values())
    np.testing.assert_array_equal(weights["b"], [0, 1, 2])
    assert load(quantized()).name == "model"


def test_writable_bytes_are_copied():
    data = bytearray(quantized())
    model = load(data)
    data[:] = bytes(len(data))
    assert next(o for o in model.main.operands if o.name == "b").data.tolist() == [0, 1, 2]
    with pytest.raises(InvalidArgument, match="contiguous"):
        load(memoryview(bytes(100))[::2])


# -- damage ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FILES)
def test_truncation_at_every_position(name):
    data = FILES[name]
    for size in range(len(data)):
        try:
            load(data[:size])
        except InvalidArgument as error:
            assert "\n" not in str(error)
        else:
            # Only padding behind the last constant may be missing.
            assert len(data) - size < 16


@settings(max_examples=400)
@given(st.sampled_from(sorted(FILES)), st.randoms(use_true_random=False))
def test_random_damage(name, rng):
    assert judge(mutate(FILES[name], STRUCTURE[name], rng)) in ("loaded", "refused")


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_random_bytes_behind_the_identifier(tail):
    assert judge(struct.pack("<I", 8) + b"TFL3" + tail) in ("loaded", "refused")


def test_every_word_replaced_by_extremes():
    data = FILES["quantized"]
    outcomes = set()
    for place in range(0, len(data) - 3, 4):
        for word in (0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF):
            outcomes.add(judge(data[:place] + struct.pack("<I", word) + data[place + 4:]))
    assert outcomes == {"loaded", "refused"}


def test_a_table_that_leads_back_to_the_root():
    # Every offset of the file in turn leads to the root table: cycles of any length.
    data = FILES["quantized"]
    root = struct.unpack_from("<I", data)[0]
    for place in range(8, len(data) - 3, 4):
        judge(data[:place] + struct.pack("<I", (root - place) & 0xFFFFFFFF) + data[place + 4:])


def test_shared_content_does_not_multiply(monkeypatch):
    # One graph listed many times is small in the file and large in memory.
    assert "too often" in refusal(relu(graphs=5000))
    monkeypatch.setattr(verify, "MAX_TABLES", 40)
    assert "more than 40 tables" in refusal(relu(graphs=10))


def test_made_up_and_widened_constants_have_a_bound():
    tensors = [Tensor("x", (1, 1, 1, 1)), Tensor("w", (1 << 25, 1, 1, 1)), Tensor("y", (1, 1, 1, 1 << 25))]
    data = relu(tensors, [Op("CONV_2D", ["x", "w"], ["y"], "Conv2DOptions", CONV)], ("x", "w"))
    with pytest.raises(UnsupportedOperator, match="one of 33554432 zeros is not possible"):
        load(data)
    half = np.zeros(4000, np.float16)
    tensors = [Tensor.of(f"h{k}", half) for k in range(9)] + [Tensor(f"y{k}", (4000,)) for k in range(9)]
    ops = [Op("DEQUANTIZE", [f"h{k}"], [f"y{k}"]) for k in range(9)]
    data = build(tensors, ops, [], ["y0"], external=True)
    assert len(load(data).main.operands) == 3
    # Every buffer leads to the bytes of the first.
    base = next(b for b in verify.decode(memoryview(data), "m").buffers if len(b.data)).offset
    cut = bytearray(data[:base + half.nbytes])
    for k in range(1, 9):
        cut = cut.replace(struct.pack("<Q", base + k * half.nbytes), struct.pack("<Q", base))
    with pytest.raises(UnsupportedOperator, match="too often"):
        load(bytes(cut))


def test_results_have_a_bound():
    pads = np.array([[0, (1 << 31) - 1]], np.int64)
    tensors = [Tensor("x", (3,)), Tensor.of("p", pads), Tensor("y", (), has_rank=False)]
    with pytest.raises(UnsupportedOperator, match="more than 2147483647 elements"):
        load(relu(tensors, [Op("PAD", ["x", "p"], ["y"])]))


# -- rules, each with its place --------------------------------------------------------------------------------------
W = np.zeros((2, 3), np.float32)


@pytest.mark.parametrize("data, text", [
    (relu(version=2), "model: version is 2, must be 3"),
    (relu([Tensor("x", (2, 3)), Tensor("y", (2, -3))]), r"subgraph[0].tensor[1]: shape [2, -3] has a negative"),
    (relu([Tensor("x", (2, 3)), Tensor("y", (1,) * 33)]), "tensor[1]: rank is 33, must be at most 32"),
    (relu([Tensor("x", (2, 3)), Tensor("y", (1 << 20, 1 << 20))]), "must be at most 2147483647"),
    (relu([Tensor("x", (2, 3)), Tensor("y", (2, 3), signature=(-1,))]), "shape_signature has 1 dimensions, shape has"),
    (relu([Tensor("x", (2, 3)), Tensor("y", (2, 3), signature=(-1, 4))]), "disagrees with shape [2, 3]"),
    (relu([Tensor("x", (2, 3)), Tensor("y", (2, 3)), Tensor("c", (2, 4), data=W)]),
     "subgraph[0].tensor[2]: shape [2, 4] needs 32 bytes, buffer[1] has 24"),
    (relu([Tensor("x", (2, 3)), Tensor("y", (2, 3)), Tensor("c", (2, 3), data=W, variable=True)]), "is a variable and"),
    (relu([Tensor("x", (2, 3)), Tensor("y", (2, 3), "uint8", scale=[1, 2, 3], dim=0)]), "has 3 scales, dimension 0"),
    (relu([Tensor("x", (2, 3)), Tensor("y", (2, 3), "uint8", scale=[1, 2, 3], dim=2)]), "quantized_dimension is 2"),
    (relu([Tensor("x", (2, 3)), Tensor("y", (2, 3), "uint8", scale=-1.0)]), "negative or not finite"),
    (relu([Tensor("x", (2, 3)), Tensor("y", (2, 3), "uint8", scale=float("nan"))]), "negative or not finite"),
    (relu(inputs=()), "subgraph[0].operator[0]: reads tensor[0], which no earlier operator writes"),
    (relu(inputs=("x", "x")), "lists a tensor twice"),
    (relu(inputs=("x", "y")), "operator[0]: writes tensor[1], which has a value already"),
    (relu(ops=[Op("RELU", ["x"], ["y"])] * 2), "operator[1]: writes tensor[1]"),
    (relu(ops=[Op("RELU", ["y"], ["y"])]), "operator[0]: reads tensor[1]"),
    (relu([Tensor("x", (2, 3)), Tensor("y", (2, 3)), Tensor("z", (2, 3))], outputs=("z",)), "output tensor[2] is"),
    (relu([Tensor("x", (2, 3), data=W), Tensor("y", (2, 3))]), "input tensor[0] is a constant or a variable"),
    (relu(outputs=(None,)), "output tensor index is -1"),
    (relu(ops=[Op("ADD", ["x", "x"], ["y"], "MulOptions")]), "options are of type 21, must be 11"),
])
def test_rules(data, text):
    assert text in refusal(data)


def test_operators_in_a_circle():
    tensors = [Tensor(n, (2, 3)) for n in "xaby"]
    ops = [Op("ADD", ["x", "b"], ["a"], "AddOptions"), Op("RELU", ["a"], ["b"]), Op("RELU", ["b"], ["y"])]
    assert "operator[0]: reads tensor[2], which no earlier operator writes" in refusal(relu(tensors, ops))


def test_index_out_of_range():
    data = relu(signature=({"x": "in"}, {"y": "out"}))
    # The operator's inputs [0], as the bytes of a vector of one: replaced one after the other.
    pattern = struct.pack("<Ii", 1, 1)
    places = [k for k in range(0, len(data), 4) if data[k:k + 8] == pattern]
    texts = {refusal(data[:k] + struct.pack("<Ii", 1, 99) + data[k + 8:]) for k in places}
    assert any("tensor index is 99, must be in [0, 2)" in text for text in texts)


def test_external_data_outside_the_file():
    data = FILES["external"]
    assert load(data).main.operands
    assert "lie" not in str(load(data)) and "are outside the" in refusal(data[:-64])
