"""What the library exports and its headers declare: the standard's names, values and layouts, and nothing else."""

import json
import re
import subprocess

import pytest

from helpers.shared import SHARED
from helpers.tree import ROOT
from nnfast.errors import ErrorStatus
from nnfast.model.types import OperandType, OperationType
from nnfast.service.wire import models, protocol

INCLUDE = ROOT / "nnfast" / "include" / "android"
LIBRARY = ROOT / "nnfast" / "lib" / "libneuralnetworks.so"
FUNCTION = re.compile(r"^(?:int|void|int64_t|uint64_t) (A\w+)\(", re.MULTILINE)


def declared():
    """{function: header}"""
    return {name: path.name for path in INCLUDE.glob("*.h") for name in FUNCTION.findall(path.read_text())}


@pytest.fixture(scope="module")
def standard():
    path = SHARED / "nnapi" / "ndk.json"
    if not path.exists():
        pytest.skip("the standard's list of functions is not there")
    return json.loads(path.read_text())


def values():
    """{constant: value} of the headers."""
    text = "".join(path.read_text() for path in INCLUDE.glob("*.h"))
    return {name: int(value, 0) for name, value in re.findall(r"^    (A[A-Z0-9_]+) = (\w+),", text, re.MULTILINE)}


def test_exported_are_the_declared_functions():
    if not LIBRARY.exists():
        pytest.skip("the library is not built in place")
    lines = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    exported = dict(line.split()[-1].split("@@") for line in lines.splitlines() if " T " in line)
    assert exported == {name: "LIBNEURALNETWORKS_PLATFORM" if header == "NeuralNetworksExtensions.h"
                        else "LIBNEURALNETWORKS" for name, header in declared().items()}


def test_declared_are_functions_of_the_standard(standard):
    known = {function["name"]: function["header"] for function in standard["functions"]}
    known |= dict.fromkeys(standard["platform_stand_ins"]["functions"][:-1], "hardware_buffer.h")
    known["ASharedMemory_create"] = "sharedmem.h"
    assert declared().items() <= known.items()


def test_declared_are_all_of_them(standard):
    assert {function["name"] for function in standard["functions"]} <= declared().keys()


def test_parameters(standard):
    text = " ".join("".join(path.read_text() for path in INCLUDE.glob("*.h")).split())
    for function in standard["functions"]:
        if function["name"] in declared():
            found = re.search(rf"\b(\w+) {function['name']}\(([^)]*)\);", text)
            types = ["".join(p["type"].split()) + p["name"] for p in function["params"]] or ["void"]
            assert found[1] == function["return_type"]
            assert "".join(found[2].split()) == ",".join(types), function["name"]


def test_constants(standard):
    wanted = {c["name"]: c["value"] for enum in standard["enums"] for c in enum["constants"]
              if enum["header"] == "NeuralNetworksTypes.h"}
    assert values() == wanted | standard["platform_stand_ins"]["AHardwareBuffer_constants"]


def test_constants_are_those_of_the_model():
    found = values()
    for code in OperationType:
        if code != OperationType.OEM_OPERATION:
            assert found[f"ANEURALNETWORKS_{code.name}"] == code
    for code in OperandType:
        if code < OperandType.SUBGRAPH:
            assert found[f"ANEURALNETWORKS_{code.name}"] == code


def test_layouts(standard, flags, tmp_path):
    structs = [*standard["structs"], {"name": "AHardwareBuffer_Desc"}
               | standard["platform_stand_ins"]["AHardwareBuffer_Desc"]]
    lines = [f'_Static_assert(sizeof({s["name"]}) == {s["size"]["lp64"]}, "{s["name"]}");' for s in structs]
    lines += [f'_Static_assert(offsetof({s["name"]}, {f["name"]}) == {f["offset"]["lp64"]}, "{f["name"]}");'
              for s in structs for f in s["fields"]]
    source = tmp_path / "layouts.c"
    source.write_text("#include <android/NeuralNetworks.h>\n" + "\n".join(lines) + "\nint main(void) { return 0; }\n")
    subprocess.run(["cc", "-std=c11", "-fsyntax-only", source, *flags], check=True)


@pytest.mark.parametrize("header", sorted(path.name for path in INCLUDE.glob("*.h")))
@pytest.mark.parametrize("language", ["c", "c++"])
def test_headers_stand_alone(header, language, flags, tmp_path):
    standard = {"c": "c99", "c++": "c++11"}[language]
    if language == "c++" and subprocess.run(["cc", "-x", "c++", "-fsyntax-only", "/dev/null"]).returncode:
        pytest.skip("this cc has no C++, which nnfast itself does not need")
    subprocess.run(["cc", "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic",
                    "-fsyntax-only", "-", *flags], input=f"#include <android/{header}>\n", text=True, check=True)


def test_numbers_of_the_protocol():
    text = (ROOT / "csrc" / "ndk" / "protocol.h").read_text()
    found = dict(re.findall(r"^    NDK_(\w+) = ([0-9<< ]+),", text, re.MULTILINE))
    tags = {re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).upper(): kind.__struct_config__.tag
            for kinds in (protocol.ONE_WAY, protocol.CALLS, protocol.EVENTS, protocol.ANSWERS) for kind in kinds}
    known = tags | {status.name: int(status) for status in ErrorStatus} | {
        "VERSION": protocol.VERSION, "MAX_PACKET": protocol.MAX_PACKET, "MAX_CALL": protocol.MAX_CALL, "LINE": 64}
    assert {name: eval(value) for name, value in found.items()}.items() <= known.items() and len(found) > 20
    assert f'"{protocol.MAGIC}"' in text and f'"{models.MAGIC.decode()}"' in text
