"""Poison: vectors, random instances of every signature and the shared models, each under two poison patterns.

    python ci/poison.py [--instances 2] [--jobs 2] [--only vectors|instances|models]

NNFAST_POISON fills working memory, outputs and packed weights before they are written. Whatever differs between two
patterns was never written, and would be memory of somebody else. Compared are the packed weights and the outputs of
`run`, of requests whose regions are longer than the results (what lies behind a result must be left alone), of bursts
and of streams. Vectors run at the level of this machine and at one of the lower levels, in turn; instances at all of
them in turn, and again with an input that is cut to nothing along one dimension, so that the declared size of the
output takes the place of a 0; models in bfloat16 too, and from a cache. Prints what differs; exit 1 when anything does.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

import nnfast
from nnfast import Memory, Request, RequestArgument, config
from nnfast._native import kernels
from nnfast._native.engine import set_poison
from nnfast.conformance.instances import draw, table
from nnfast.conformance.kinds import with_unknown_outputs
from nnfast.conformance.vectors import collect, read
from nnfast.errors import Error
from nnfast.model.types import LifeTime, Operand, OperandType, Operation, OperationType

PATTERNS = 0xFF, 0x5A
"""NaN and -1, and something else."""

FILL, MARGIN, LINE = 0xA5, 40, 64
SHOWN = 20
LIMITS = 3, 11, 40
"""Largest dimensions of instances, in turn."""

GROUP = 8
"""Signatures of a task."""

CUTTABLE = frozenset((OperandType.TENSOR_FLOAT32, OperandType.TENSOR_FLOAT16, OperandType.TENSOR_INT32,
                      OperandType.TENSOR_QUANT8_ASYMM, OperandType.TENSOR_QUANT8_ASYMM_SIGNED))
"""Types that SLICE takes."""


def raw(arrays):
    """The bytes of arrays."""
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


def request_of(arrays, outputs, allocate):
    """A request with inputs in pool 0 and outputs in pool 1, whose regions are MARGIN bytes too long."""
    places, ends = [], []
    for sizes in ([0 if a is None else a.nbytes for a in arrays], [a.nbytes + MARGIN for a in outputs]):
        starts = np.cumsum([0, *(-(-size // LINE) * LINE for size in sizes)]).tolist()
        places.append(starts[:-1])
        ends.append(max(1, starts[-1]))
    pools = [allocate(end) for end in ends]
    views = [pool.array() if isinstance(pool, Memory) else pool for pool in pools]
    inputs = []
    for at, array in zip(places[0], arrays):
        if array is None:
            inputs.append(RequestArgument(has_no_value=True))
            continue
        views[0][at:at + array.nbytes] = array.reshape(-1).view(np.uint8)
        inputs.append(RequestArgument(0, at, array.nbytes, array.shape))
    given = [RequestArgument(1, at, array.nbytes + MARGIN) for at, array in zip(places[1], outputs)]
    views[1][:] = FILL
    return Request(tuple(inputs), tuple(given), tuple(pools)), views[1]


def observe(model, arrays, pattern, threads, precision):
    """What a client can see of a model and its executions under a pattern: [(what, bytes or the text of an error)]."""
    set_poison(pattern)
    seen = []

    def note(what, call):
        try:
            seen.append((what, call()))
        except Error as error:
            seen.append((what, f"{type(error).__name__}: {error}"))
            return False
        return True

    made = []
    if not note("prepare", lambda: made.append(nnfast.Device(threads, precision=precision).prepare(model))):
        return seen
    prepared, results = made[0], []
    if model.states:
        stream = prepared.stream()
        for nth in range(3):
            note(f"stream {nth}", lambda: raw(stream.run(arrays)))
        return seen
    if note("run", lambda: raw(results.extend(prepared.run(arrays)) or results)):
        note("run again", lambda: raw(prepared.run(arrays)))
        out = [np.full(result.shape, 1, result.dtype) for result in results]
        note("run into arrays", lambda: raw(prepared.run(arrays, out)))
    for segment in prepared.executor.segments():
        seen.append(("packed weights", raw(segment.frame_spec["constants"].values())))
    if not results or any(result.size == 0 for result in results):
        return seen
    request, region = request_of(arrays, results, lambda size: np.zeros(size, np.uint8))
    note("execute", lambda: prepared.execute(request) and raw([region]))
    request, shared = request_of(arrays, results, Memory.create)
    with prepared.burst() as burst:
        note("burst", lambda: burst.execute(request) and raw([shared]))
    for argument, result in zip(request.outputs, results):
        for what, memory in (("execute", region), ("burst", shared)):
            behind = memory[argument.offset + result.nbytes:argument.offset + argument.length]
            if (behind != FILL).any():
                seen.append((what, f"wrote behind a result: {pattern}"))
    return seen


def compare(model, arrays, label, threads=1, level=None, precision=None):
    """What differs, as lines of text."""
    kernels.set_level(level)
    try:
        first, second = (observe(model, arrays, pattern, threads, precision) for pattern in PATTERNS)
    finally:
        kernels.set_level(None)
        set_poison(None)
    differ = sorted({a[0] for a, b in zip(first, second) if a != b}) if len(first) == len(second) else ["all"]
    return [f"{label}{'' if level is None else f' at {level}'}: {', '.join(differ)}"] if differ else []


def vectors(path):
    """(how many, lines) of a vector file."""
    lower, lines, count = kernels.levels()[:-1], [], 0
    for nth, vector in enumerate(read(path)):
        if vector.expect_failure or not vector.operations <= OperationType.__members__.keys():
            continue
        case = vector.case()
        arrays = [None if value is None else np.ascontiguousarray(value) for value in case.inputs]
        count += 1
        lines += compare(case.model, arrays, vector.name)
        if lower:
            model = with_unknown_outputs(case.model)
            lines += compare(model, arrays, vector.name, 1 + nth % 2, lower[nth % len(lower)])
    return count, lines


def instances(rows, amount):
    """(how many, lines) of rows of the table of signatures."""
    levels, lines, count = kernels.levels(), [], 0
    known = {row[0]: row for row in table()}
    for name in rows:
        _, op, form, nth = known[name]
        for seed in range(amount):
            instance = draw(op, form, nth, seed, LIMITS[seed % len(LIMITS)])
            how = 1 + seed % 2, levels[-1 - seed % len(levels)]
            count += 1
            lines += compare(instance.model, instance.arrays, instance.text, *how)
            for text, model in emptied(instance):
                count += 1
                lines += compare(model, instance.arrays, f"{instance.text} {text}", *how)
    return count, lines


def emptied(instance):
    """(text, model): the instance with its outputs declared, and one input cut to nothing along one dimension."""
    try:
        model = instance.declared(instance.node()).model
    except Error:
        return  # the operation refuses the instance
    for place, operand in enumerate(model.main.inputs):
        record = model.main.operands[operand]
        if record.type not in CUTTABLE or not record.dims or 0 in record.dims:
            continue
        for axis in range(len(record.dims)):
            yield f"input {place} without dimension {axis}", cut(model, operand, axis)


def cut(model, operand, axis):
    """The model with a SLICE of size 0 along an axis of an input, in the place of the input."""
    graph = model.main
    record, new = graph.operands[operand], len(graph.operands)
    rank = len(record.dims)
    size = [0 if d == axis else dim for d, dim in enumerate(record.dims)]
    begin, size = (Operand(OperandType.TENSOR_INT32, (rank,), 0.0, 0, LifeTime.CONSTANT_COPY, data=np.int32(values))
                   for values in ([0] * rank, size))
    none = replace(record, lifetime=LifeTime.TEMPORARY_VARIABLE, dims=(0,) * rank, name="")
    operations = [replace(operation, inputs=tuple(new if o == operand else o for o in operation.inputs))
                  for operation in graph.operations]
    slicing = Operation(OperationType.SLICE, (operand, new + 1, new + 2), (new,))
    return model.with_main(operands=(*graph.operands, none, begin, size), operations=(slicing, *operations))


def models(path):
    """(how many, lines) of a model file with the input that lies beside it."""
    data = np.load(path.with_suffix(".npz"))
    arrays = [data["input"] if int(data["calls"]) == 1 else data["input"][0]]
    model = nnfast.load(path)
    lines = compare(model, arrays, path.name, 2) + compare(model, arrays, f"{path.name} in bf16", 2, precision="bf16")
    results = []
    for pattern in PATTERNS:
        set_poison(pattern)
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):  # stored, then restored
                prepared = nnfast.Device(2).prepare(model, cache_dir=folder)
            results.append(raw(prepared.stream().run(arrays)))
    set_poison(None)
    return 1, lines if results[0] == results[1] else [*lines, f"{path.name} from a cache"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=2, metavar="N", help="of each signature and type set")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="processes")
    parser.add_argument("--only", choices=("vectors", "instances", "models"))
    args = parser.parse_args()
    shared, started, tasks = Path(config.get("NNFAST_SHARED")), time.monotonic(), []
    if args.only in (None, "models"):
        paths = [path for path in sorted(shared.glob("models/*.tflite")) if path.with_suffix(".npz").exists()]
        tasks += [("models", models, path) for path in sorted(paths, key=lambda path: -path.stat().st_size)]
    if args.only in (None, "vectors") and (shared / "vts").is_dir():
        paths = collect([shared / "vts"])
        tasks += [("vectors", vectors, path) for path in sorted(paths, key=lambda path: -path.stat().st_size)]
    if args.only in (None, "instances"):
        names = [row[0] for row in table()]
        tasks += [("instances", instances, names[at:at + GROUP], args.instances) for at in range(0, len(names), GROUP)]
    counts, lines = Counter(), []
    with ProcessPoolExecutor(args.jobs) as pool:
        for kind, future in [(kind, pool.submit(*task)) for kind, *task in tasks]:
            count, found = future.result()
            counts[kind] += count
            lines += found
    for line in lines[:SHOWN]:
        print(line)
    if len(lines) > SHOWN:
        print(f"... and {len(lines) - SHOWN} more")
    told = ", ".join(f"{counts[kind]} {kind}" for kind in ("models", "vectors", "instances") if counts[kind])
    print(f"{told}: {len(lines)} show poison, {time.monotonic() - started:.0f} s")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
