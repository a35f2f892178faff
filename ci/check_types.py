"""Types of the public face as pyright sees them: every name of it must have one that is written down.

    python ci/check_types.py        # needs basedpyright or pyright; half a minute of processor time

Counts of `pyright --verifytypes` are of all modules; what counts here are those that programs import.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

FACE = {"nnfast", *(f"nnfast.{name}" for name in (
    "conformance", "conformance.results", "distributed", "driver.cache_files", "driver.explain", "driver.prepared",
    "driver.profile", "driver.request", "driver.stream", "driver.submit", "errors", "extensions", "fmq",
    "fmq.descriptor", "fmq.queue", "fmq.records", "fuzz", "fuzz.runner", "hal", "hal.convert", "hal.types", "hal.utils",
    "hal.v1_0", "hal.v1_1", "hal.v1_2", "hal.v1_3", "hal.validate", "litert", "litert.delegates", "litert.interpreter",
    "litert.signature", "model.builder", "model.types", "stress", "stress.outcome", "stress.suite", "tflite", "trace",
    "typed", "vlog"))}
"""Modules of the face, and those that its classes come from."""
ALLOWED = {
    "nnfast.distributed.dask": "a module that the extra brings",
    "nnfast.distributed.distributed": "a module that the extra brings",
    "nnfast.distributed.dask_array": "a module that the extra brings",
    "nnfast.distributed.ContentPlugin": "its base is of a package without types",
}
"""Names without a type -> why."""
MISSING = ("annotation", "unknown type", "Type unknown")


def main():
    """Exit code 1 where a name of the face has no type."""
    tool = shutil.which("basedpyright") or shutil.which("pyright")
    if tool is None:
        print("neither basedpyright nor pyright is installed: skipped")
        return 0
    root = str(Path(__file__).resolve().parents[1])
    # An editable installation is a hook that runs at import, which only Python sees.
    run = subprocess.run([tool, "--verifytypes", "nnfast", "--ignoreexternal", "--outputjson"], capture_output=True,
                         text=True, cwd=root, env={**os.environ, "PYTHONPATH": root})
    report = json.loads(run.stdout)["typeCompleteness"]
    modules = {module["name"] for module in report["modules"]}
    wrong, count = [], 0
    for symbol in report["symbols"]:
        module = symbol["name"]
        while module not in modules and "." in module:
            module = module.rpartition(".")[0]
        if not symbol["isExported"] or module not in FACE:
            continue
        count += 1
        told = [d["message"] for d in symbol.get("diagnostics", ()) if any(word in d["message"] for word in MISSING)]
        if told and symbol["name"] not in ALLOWED:
            wrong.append(f"{symbol['name']}: {' '.join(told[0].split())}")
    print("\n".join([*wrong, f"{count - len(wrong)} of {count} names of the face have types"]))
    return bool(wrong) or not count


if __name__ == "__main__":
    sys.exit(main())
