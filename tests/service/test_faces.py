"""The HIDL faces on a device in the driver's process, and what a user sees first."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import nnfast
from helpers.processes import environment
from helpers.service import add_model, dense_model, serving
from helpers.vendor_extensions import MONEY
from nnfast import Memory, Request, RequestArgument
from nnfast.errors import ErrorStatus
from nnfast.hal import v1_0, v1_1, v1_2, v1_3
from nnfast.hal.layout import Layout, request_from_canonical

X, Y = np.float32([1, 2, 3, 4]), np.float32([10, 20, 30, 40])
ROOT = Path(__file__).resolve().parents[2]


class Callback:
    """Of any version: keeps what it is told."""

    def __init__(self):
        self.calls, self._told = [], threading.Event()

    def notify(self, *results):
        self.calls.append(results)
        self._told.set()

    notify_1_2 = notify_1_3 = notify

    def wait(self):
        assert self._told.wait(600)
        (results,) = self.calls
        return results


def hidl_request(hal):
    source, target = Memory.create(32), Memory.create(16)
    source.array()[:] = np.concatenate([X, Y]).view(np.uint8)
    request = Request((RequestArgument(0, 0, 16), RequestArgument(0, 16, 16)), (RequestArgument(1, 0, 16),),
                      (source, target))
    return target, request_from_canonical(request, hal)


@pytest.mark.parametrize("face, hal, arguments", [(v1_0, "1.0", ()), (v1_1, "1.1", (1,)),
                                                  (v1_2, "1.2", (1, [], [], bytes(32))),
                                                  (v1_3, "1.3", (1, 1, None, [], [], bytes(32)))])
def test_prepare_and_execute(device, face, hal, arguments):
    hidl = face.Device(device)
    assert hidl.getStatus() == v1_0.DeviceStatus.AVAILABLE
    suffix = "" if hal == "1.0" else "_" + hal.replace(".", "_")
    model = Layout(add_model(), hal).model()
    assert getattr(hidl, f"getSupportedOperations{suffix}")(model) == (ErrorStatus.NONE, [True])
    made = Callback()
    assert getattr(hidl, f"prepareModel{suffix}")(model, *arguments, made) == ErrorStatus.NONE
    status, prepared = made.wait()
    assert status == ErrorStatus.NONE
    target, request = hidl_request(hal)
    ran = Callback()
    extra = {"1.0": (), "1.1": (), "1.2": (1,), "1.3": (1, None, None)}[hal]
    execute = getattr(prepared, "execute" if hal in ("1.0", "1.1") else f"execute{suffix}")
    assert execute(request, *extra, ran) == ErrorStatus.NONE
    assert ran.wait()[0] == ErrorStatus.NONE
    np.testing.assert_array_equal(target.array().view(np.float32), X + Y)


def test_a_bad_request_is_the_status_of_the_launch_and_of_the_callback(device):
    made = Callback()
    v1_3.Device(device).prepareModel_1_3(Layout(add_model(), "1.3").model(), 1, 1, None, [], [], bytes(32), made)
    prepared = made.wait()[1]
    _, request = hidl_request("1.3")
    request.inputs.pop()
    ran = Callback()
    assert prepared.execute_1_3(request, 0, None, None, ran) == ErrorStatus.INVALID_ARGUMENT
    assert ran.wait()[0] == ErrorStatus.INVALID_ARGUMENT
    assert "request inputs: got 1, must be 2" in prepared.last_error()
    assert prepared.executeSynchronously_1_3(request, 0, None, None)[0] == ErrorStatus.INVALID_ARGUMENT


def test_a_late_launch_ends_in_the_callback(device):
    made = Callback()
    launched = v1_3.Device(device).prepareModel_1_3(Layout(dense_model(), "1.3").model(), 1, 1, 1, [], [], bytes(32),
                                                    made)
    assert launched == ErrorStatus.NONE
    assert made.wait() == (ErrorStatus.MISSED_DEADLINE_PERSISTENT, None)


def test_cache_files_cross_over(device):
    files = [[v1_3.Handle((os.memfd_create(name),))] for name in ("model", "data")]
    hidl, token, made = v1_3.Device(device), bytes(range(32)), Callback()
    hidl.prepareModel_1_3(Layout(add_model(), "1.3").model(), 1, 1, None, *files, token, made)
    assert made.wait()[0] == ErrorStatus.NONE
    loaded = Callback()
    assert hidl.prepareModelFromCache_1_3(None, *files, token, loaded) == ErrorStatus.NONE
    status, prepared = loaded.wait()
    assert status == ErrorStatus.NONE
    target, request = hidl_request("1.3")
    assert prepared.executeSynchronously_1_3(request, 0, None, None)[0] == ErrorStatus.NONE
    np.testing.assert_array_equal(target.array().view(np.float32), X + Y)
    refused = Callback()
    assert hidl.prepareModelFromCache_1_3(None, *files, bytes(32), refused) == ErrorStatus.GENERAL_FAILURE
    assert refused.wait() == (ErrorStatus.GENERAL_FAILURE, None)


def test_what_the_device_says_of_itself(tmp_path):
    nnfast.extensions.register(MONEY)
    try:
        with serving(tmp_path) as (path, _):
            ours, theirs = v1_3.Device(nnfast.Device(num_threads=1)), v1_3.Device(nnfast.connect(path))
            for call in ("getCapabilities_1_3", "getVersionString", "getType", "getSupportedExtensions",
                         "getNumberOfCacheFilesNeeded"):
                assert getattr(ours, call)() == getattr(theirs, call)(), call
            assert theirs.getSupportedExtensions()[1][0].name == MONEY.name
    finally:
        nnfast.extensions.unregister(MONEY.name)


# -- the user ----------------------------------------------------------------------------------------------------------
def test_the_lines_of_the_readme_run(tmp_path):
    text = (ROOT / "README.md").read_text().partition("## As a process")[2]
    code = re.search(r"```python\n(.*?)```", text, re.S).group(1)
    assert len(code.splitlines()) == 6
    model = Path(nnfast.__file__).parent / "data" / "digits_int8.tflite"
    code = code.replace("mobilenet_v1.tflite", str(model)).replace('["nnfast",', '[sys.executable, "-m", "nnfast",')
    code = f"import sys\n{code}\nassert driver.wait(600) == 0 and y.size == 10\n"
    where = environment()
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=where, check=True, timeout=600)


def test_importing_loads_no_messages():
    code = "import nnfast, nnfast.hal.v1_3, nnfast.cli.main, sys; assert 'msgspec' not in sys.modules"
    where = environment()
    subprocess.run([sys.executable, "-c", code], env=where, check=True, timeout=600)
