"""`nnfast info`: what this machine and this build of nnfast have."""

import shutil
import sys
from collections import Counter

from ..errors import InvalidArgument
from ..version import __version__
from .output import Output, progress, rich_table, table

COLUMNS = {
    "f32": ("TENSOR_FLOAT32",), "f16": ("TENSOR_FLOAT16",), "s32": ("TENSOR_INT32",), "b8": ("TENSOR_BOOL8",),
    "qu8": ("TENSOR_QUANT8_ASYMM",), "qs8": ("TENSOR_QUANT8_ASYMM_SIGNED",), "qs8z": ("TENSOR_QUANT8_SYMM",),
    "qs8c": ("TENSOR_QUANT8_SYMM_PER_CHANNEL",), "q16": ("TENSOR_QUANT16_SYMM", "TENSOR_QUANT16_ASYMM"),
}
"""Operand types of each column of the table of operations; the names are those of the kernels."""

SHORT = {"native": "nat", "numpy": "np", "part": "~", "-": "-"}
"""Ways as a narrow terminal has room for them."""


def add_arguments(parser):
    parser.add_argument("--ops", action="store_true", help="show which operation is native on which type (seconds)")
    parser.add_argument("--kernels", action="store_true", help="list every kernel that this machine can run")
    parser.add_argument("--peak", action="store_true", help="measure what the machine can do at most (seconds)")
    parser.add_argument("--calibrate", action="store_true",
                        help="measure and store the capabilities that the driver reports (seconds)")
    Output.add_argument(parser)


def collect():
    """Everything that is shown, as plain data."""
    from .. import config
    from ..driver.team import teams
    from ..extensions import registered
    from ..model.types import OperationType
    from ..ops import registry

    try:
        from .._native import conv, kernels, threads
    except ImportError as error:
        raise InvalidArgument(f"the native part of nnfast is not built: {error}") from None
    codes = registry.supported_codes()
    rows = kernels.table()
    return {
        "version": __version__,
        "cpu": {"level": kernels.level(), "detected": kernels.detected(), "levels": kernels.levels(),
                "bf16": conv.bf16_available()},
        "threads": {"default": threads.default_threads(), "available": threads.available(), "teams": teams()},
        "knobs": {knob.name: {"value": config.get(knob.name), "help": knob.help} for knob in config.KNOBS},
        "kernels": rows,
        "picked": {op: kernels.picked(op) for op in sorted({row["op"] for row in rows})},
        "capabilities": _capabilities(),
        "operations": {OperationType(code).name: _way(registry.lookup(code)) for code in codes},
        "extensions": {name: {"types": _names(extension.types), "operations": _names(extension.operations)}
                       for name, extension in sorted(registered().items())},
        "missing": [code.name for code in OperationType if code not in codes and code != OperationType.OEM_OPERATION],
    }


def _names(members):
    return [member.name for _, member in sorted(members.items())]


def _capabilities():
    """What the driver reports of its speed; source: "" where nothing was measured."""
    from ..driver.capabilities import OTHERS, capabilities
    from ..model.types import OperandType

    found = capabilities()
    rows = {OperandType(kind).name: performance for kind, performance in found.operands.items()}
    rows |= {name: getattr(found, name) for name in OTHERS}
    return {"source": found.source,
            "performance": {name: {"time": row.time, "power": row.power} for name, row in rows.items()}}


def capabilities_table(found):
    """Text of the capabilities, measured or by definition."""
    if not found["source"]:
        return "capabilities  1.0 by definition, time and power; `nnfast info --calibrate` measures them"
    rows = [[name, row["time"], row["power"]] for name, row in found["performance"].items()]
    return f"capabilities  {found['source']}\n\n" + table(["over the reference CPU", "time", "power"], rows)


def _way(definition):
    if not hasattr(definition, "lower"):
        return "control flow"
    return "native" if definition.lower else "numpy"


def main(args):
    output = Output(args.json)
    if args.calibrate:
        from ..bench import calibration

        with progress("calibration") as move:
            calibration.calibrate(move)
    found = collect()
    cpu, operations = found["cpu"], found["operations"]
    native = sum(way == "native" for way in operations.values())
    output.say(f"nnfast      {found['version']}")
    output.say(f"CPU level   {cpu['level']} (machine has {cpu['detected']}; levels: {', '.join(cpu['levels'])})")
    said = "kernels for it run" if cpu["bf16"] else "this level has no kernels for it: float32 runs"
    output.say(f'bf16        {said} where precision="bf16" is asked for')
    found_threads = found["threads"]
    output.say(f"threads     {found_threads['default']} by default, {found_threads['available']} usable; teams: "
               f"{', '.join(found_threads['teams'])}")
    output.say(f"kernels     {len(found['kernels'])} for {len(found['picked'])} kernel operations")
    output.say(f"operations  {len(operations)}: {native} native, {len(operations) - native} numpy; "
               f"{len(found['missing'])} not built")
    lines = [f"{name}: operations {', '.join(has['operations']) or 'none'}; types {', '.join(has['types']) or 'none'}"
             for name, has in found["extensions"].items()]
    output.say("extensions  " + ("\n" + 12 * " ").join(lines or ["none installed"]))
    output.say()
    output.say(table(["knob", "value", "meaning"],
                     [[name, knob["value"] or "-", knob["help"]] for name, knob in found["knobs"].items()]))
    output.say()
    output.say(capabilities_table(found["capabilities"]))
    if args.kernels:
        output.say()
        output.say(table(["kernel operation", "kernel", "level", "picked"], [
            [row["op"], row["name"], row["isa"], "yes" if found["picked"][row["op"]] == row["name"] else ""]
            for row in found["kernels"]]))
    if args.ops:
        from ..conformance import coverage

        with progress("lowering") as move:
            found["types"] = coverage.native_types(move)
        output.say()
        output.say(types_table(found["types"], shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
        output.say(f"{' and '.join(coverage.control_flow())}: control flow, of any type")
    if args.peak:
        from ..bench import peak

        with progress("measuring") as move:
            found["peak"] = peak.limits(progress=move)
        output.say()
        output.show(*peak_tables(found["peak"]))
    output.finish(found)
    return 0


def types_table(found, width=None):
    """Text of a table, operation by operand type, of a document of `coverage.native_types`, and what its words mean.

    Beyond `width` columns the words are short ones.
    """
    rows = [[name, *(_together(types, kinds) for kinds in COLUMNS.values())] for name, types in sorted(found.items())]
    words, text = {way: way for way in SHORT}, table(["operation", *COLUMNS], rows)
    if width is not None and max(map(len, text.splitlines())) > width:
        words = SHORT
        text = table(["operation", *COLUMNS], [[name, *(words[way] for way in ways)] for name, *ways in rows])
    count = Counter(way for _, *ways in rows for way in ways)
    meaning = {"native": "by kernels", "numpy": "by the numpy reference", "part": "native in some forms",
               "-": "no such signature"}
    return "\n".join([text, "", *(f"{words[way]:6} {count[way]:4} {means}" for way, means in meaning.items()), "",
                      *(f"{column:5} {' or '.join(kinds)}" for column, kinds in COLUMNS.items())])


def _together(types, kinds):
    """How an operation runs on the operand types of one column."""
    ways = {types[kind] for kind in kinds if kind in types}
    return "part" if len(ways) > 1 else ways.pop() if ways else "-"


def peak_tables(found):
    """Rich tables of a document of `bench.peak.limits`."""
    counts = found["threads"]
    heads = [f">{count} thread{'s' if count > 1 else ''}" for count in counts]

    def cells(row):
        rates = [row["rates"][count] for count in counts]
        return [*(f"{rate:,.1f}" for rate in rates), f"{rates[-1] / rates[0]:.2f}x" if len(counts) > 1 else ""]

    arithmetic = [[row["types"], row["isa"], row["unit"], *cells(row)] for row in found["arithmetic"]]
    reads = [[row["level"], f"{row['bytes'] >> 10:,} KiB", "GB/s", *cells(row)] for row in found["reads"]]
    return (rich_table("Multiply-adds (two operations each), best of several", ["type", "level", "unit", *heads,
                                                                               ">scaling"], arithmetic),
            rich_table("Reads", ["from", ">working set", "unit", *heads, ">scaling"], reads,
                       "L1, L2: working set of each thread; L3, memory: of all threads together"))
