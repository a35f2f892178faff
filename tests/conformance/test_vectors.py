import gzip
import json
from collections import Counter

import numpy as np
import pytest

from helpers import vector_files
from helpers.shared import VECTORS, needs_vectors
from nnfast.conformance.kinds import KINDS
from nnfast.conformance.vectors import collect, read
from nnfast.errors import InvalidArgument
from nnfast.model.types import LifeTime, OperandType, OperationType


def load(tmp_path, test, **options):
    return read(vector_files.write(tmp_path / "x.json.gz", test, **options))[0]


def test_case_has_model_values_and_expectations(tmp_path):
    vector = load(tmp_path, vector_files.add_test(relaxed=True))
    case = vector.case()
    assert (vector.name, vector.version, vector.folder, vector.operations) == ("add", "1.0", "V1_0", {"ADD"})
    assert case.model.relaxed and case.model.name == "add"
    operation = case.model.main.operations[0]
    assert (operation.type, operation.inputs, operation.outputs) == (OperationType.ADD, (0, 1, 2), (3,))
    activation = case.model.main.operands[2]
    assert activation.lifetime == LifeTime.CONSTANT_COPY and activation.data.shape == () and activation.data == 0
    assert case.model.main.operands[0].data is None
    np.testing.assert_array_equal(case.inputs[0], np.array([1, 2], np.float32))
    np.testing.assert_array_equal(case.expected[0], np.array([4, 6], np.float32))
    assert case.inputs[0].dtype == np.float32 and not case.inputs[0].flags.writeable
    assert case.ignored == (False,)


def test_omitted_input_is_none_and_an_empty_one_is_not(tmp_path):
    test = vector_files.add_test()
    test["model"]["main"]["operands"][0]["data"] = None
    assert load(tmp_path, test).case().inputs[0] is None
    test["model"]["main"]["operands"][0].update(data="", dims=[0, 3])
    assert load(tmp_path, test).case().inputs[0].shape == (0, 3)


def test_subgraph_operand_and_channel_scales(tmp_path):
    test = vector_files.add_test()
    operands = test["model"]["main"]["operands"]
    operands.append(vector_files.operand("SUBGRAPH", "SUBGRAPH", 0))
    operands.append(vector_files.operand("TENSOR_FLOAT32", "NO_VALUE", dims=[0],
                                         channel_quant={"dim": 1, "scales": [0.5, 2]}))
    test["model"]["referenced"].append({"operands": [], "operations": [], "inputs": [], "outputs": []})
    model = load(tmp_path, test).case().model
    assert (model.main.operands[4].type, model.main.operands[4].subgraph) == (OperandType.SUBGRAPH, 0)
    assert model.main.operands[5].channel_quant.scales == (0.5, 2.0)


@pytest.mark.parametrize("source, min_hal, version", [
    ("V1_2/x", "1.0", "1.0"), ("V1_2/x", "unknown", "1.2"), ("V1_3_cts_only/x", "unknown", "1.3"),
    ("AIDL_V3/x", "unknown", "aidl3"), ("experimental/x", "unknown", "experimental"),
])
def test_version(tmp_path, source, min_hal, version):
    assert load(tmp_path, vector_files.add_test(min_hal=min_hal), source=source).version == version


def edit(path, value):
    def apply(test):
        *parents, last = path
        for key in parents:
            test = test[key]
        if value is KeyError:
            del test[last]
        else:
            test[last] = value
    return apply


MAIN = ("model", "main")


@pytest.mark.parametrize("change, words", [
    (edit(("name",), KeyError), r"tests\[0\]: key 'name' is missing"),
    (edit(("relaxed",), 1), "relaxed is '1', must be true or false"),
    (edit(("multinomial_tolerance",), True), "multinomial_tolerance is 'True', must be a number"),
    (edit(("min_hal",), "9"), "min_hal is '9'"),
    (edit((*MAIN, "operations", 0, "type"), "FOO"), r"main.operations\[0\]: operation 'FOO' is not known"),
    (edit((*MAIN, "operations", 0, "inputs"), [0, 9]), r"main.operations\[0\]: inputs hold operand 9, there are 4"),
    (edit((*MAIN, "outputs"), [-1]), r"main: outputs hold -1"),
    (edit((*MAIN, "inputs"), [True]), r"main: inputs hold True"),
    (edit((*MAIN, "operands", 0, "type"), "TENSOR_FLOAT64"), r"main.operands\[0\]: OperandType 'TENSOR_FLOAT64'"),
    (edit((*MAIN, "operands", 0, "type"), "OEM"), r"main.operands\[0\]: type OEM has no values"),
    (edit((*MAIN, "operands", 0, "lifetime"), "MODEL_INPUT"), "LifeTime 'MODEL_INPUT' is not known"),
    (edit((*MAIN, "operands", 0, "dims"), [2.0]), "dims hold 2.0"),
    (edit((*MAIN, "operands", 0, "dims"), [2**31, 2**31]), "data has 8 bytes"),
    (edit((*MAIN, "operands", 0, "data"), "?!"), "data is not base64"),
    (edit((*MAIN, "operands", 0, "data"), 5), "data is '5', must be a text"),
    (edit((*MAIN, "operands", 2, "data"), None), r"main.operands\[2\]: is a constant, its data must not be null"),
    (edit((*MAIN, "operands", 3, "data"), None), r"main.operands\[3\]: is an output, its data must not be null"),
    (edit((*MAIN, "operands", 2, "lifetime"), "SUBGRAPH"), "must be the index of one of the 0 referenced"),
    (edit((*MAIN, "operands", 0, "channel_quant"), {"dim": 0, "scales": ["a"]}), "scales must be numbers"),
])
def test_malformed_test_names_the_place(tmp_path, change, words):
    test = vector_files.add_test()
    change(test)
    with pytest.raises(InvalidArgument, match=words) as caught:
        load(tmp_path, test).case()
    assert "\n" not in str(caught.value)


def document(**changes):
    return gzip.compress(json.dumps({"format": 1, "source": "V1_0/x", "tests": [], **changes}).encode(), mtime=0)


@pytest.mark.parametrize("content, words", [
    (b"plain text", "cannot be read: Not a gzipped file"),
    (document()[:-12], "damaged gzip data|cannot be read"),
    (document()[:12], "damaged gzip data|cannot be read"),
    (gzip.compress(b"{", mtime=0), "not JSON"),
    (gzip.compress(b"\xff\xfe", mtime=0), "not JSON"),
    (gzip.compress(b"[" * 200000, mtime=0), "not JSON"),
    (gzip.compress(b"[]", mtime=0), "no 'format' key"),
    (document(format=2), "format is 2, must be 1"),
    (document(tests={}), "tests is '{}', must be a list"),
    (document(tests=[7]), r"tests\[0\]: must be an object"),
    (document(source="mine/x", tests=[vector_files.add_test(min_hal="unknown")]), "folder 'mine' has no version"),
])
def test_file_that_is_none(tmp_path, content, words):
    path = tmp_path / "x.json.gz"
    path.write_bytes(content)
    with pytest.raises(InvalidArgument, match=words) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_collect(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    one, two = vector_files.write(tmp_path / "a" / "z.json.gz"), vector_files.write(inner / "y.json.gz")
    assert collect([two, tmp_path]) == [two, one]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidArgument, match="holds no"):
        collect([tmp_path / "empty"])
    with pytest.raises(InvalidArgument, match="no such file"):
        collect([tmp_path / "nowhere"])




@needs_vectors
def test_whole_corpus_reads_and_counts_are_those_of_its_description():
    taken, folders, cases = Counter(), Counter(), 0
    for path in collect([VECTORS]):
        for vector in read(path):
            folders[vector.folder] += 1
            if vector.folder in ("V1_0", "V1_1", "V1_2", "V1_3"):
                taken.update(name for name, kind in KINDS.items() if kind.takes(vector))
                if KINDS["dynamic"].takes(vector):
                    taken["insufficient"] += vector.case().expected[0].nbytes > 1
            if vector.version != "experimental":
                cases += len(vector.case().expected) > 0
    assert folders == {"V1_0": 261, "V1_1": 448, "V1_2": 4864, "V1_3": 2378, "V1_3_cts_only": 268, "AIDL_V2": 73,
                       "AIDL_V3": 90, "experimental": 114}
    assert taken == {"general": 7896, "dynamic": 7438, "insufficient": 7104, "coupling": 731, "failure": 55,
                     "loop_timeout": 5, "validation": 3408, "deadline": 7896, "fenced": 7896, "memory_domain": 7896}
    assert cases == 8496 - 114
