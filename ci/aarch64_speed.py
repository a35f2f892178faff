"""How near the hot loops of the aarch64 kernels come to the limits of processors, by llvm-mca's models of these.

    CC=aarch64-linux-gnu-gcc python ci/aarch64_speed.py [--kernel NAME] [--share 0.85] [--brief | --markdown] [--show]

No aarch64 machine is needed. Each kernel's source is compiled as builds compile it, its hot loop is found in the
assembly (ci/aarch64_loops.py), and llvm-mca says how many cycles a round takes on a core once it runs steadily:
dependencies, latencies, pipes and buffers are modelled, caches are not (loads hit level 1). The limit is what the
instructions alone take that the arithmetic cannot do without, on the pipes which run them: without moves, spills,
addresses and loop control. Both are at least instructions / width of decoding. Exit code
1 where a share is too low.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
if shutil.which(os.environ.setdefault("CC", "aarch64-linux-gnu-gcc").partition(" ")[0]) is None:
    raise SystemExit(f"CC={os.environ['CC']}: no such program; install gcc-aarch64-linux-gnu, or name a compiler in CC")

import aarch64_loops
import c_build

OLDEST, NEWEST = 17, 30  # releases of LLVM whose llvm-mca knows these cores
ROUNDS = 200


class Core(NamedTuple):
    """A processor: its title, LLVM's name, instructions and micro-operations that it passes on a cycle at most (as
    Arm's optimization guides have it: LLVM's figures differ from release to release), whether its shares are judged,
    whether it has matrix products of bytes and bfloat16 (i8mm, bf16)."""

    title: str
    cpu: str
    decoded: int
    dispatched: int
    judged: bool
    has_matrix: bool


CORES = (
    Core("Cortex-A76, Neoverse N1", "neoverse-n1", 4, 8, True, False),  # one core; LLVM's model of the A76 is the A57's
    Core("Neoverse N2", "neoverse-n2", 5, 10, True, True),
    Core("Neoverse V1", "neoverse-v1", 8, 16, True, True),
    Core("Apple", "apple-m1", 8, 8, False, False),  # LLVM's model is of 2013, with three vector pipes
)

# What arithmetic cannot do without: kinds of instructions. Memory is that of tensors, not of the stack.
PLACE = r"[^\[]*\[(?!sp|x29)"
WHOLE = rf"(?:ldr|ldur|str|stur)\s+q{PLACE}|(?:ldp|stp)\s+q{PLACE}|(?:ld|st)1\s.*\.(?:16b|8h|4s|2d)\b"
ANY = rf"(?:ldr|ldur|str|stur)\s+[dq]{PLACE}|(?:ldp|stp)\s+[dq]{PLACE}|(?:ld|st)1\s"
F32 = r"f(?:add|sub|mul|mla|mls|max|min|div)\s"
VECTOR = r"(?!mov|dup|ld|st|cmp|add\s+[xw]|sub\s+[xw])[a-z]\w*\s+[vqds]\d"
MULTIPLY_ADDS, LONG, DOT, MATRIX = r"fmla\s", r"[su]mlal2?\s", r"[su]dot\s", r"(?:s|us|bf)mmla\s"
PAIRED = r"sm(?:ul|la)l2?\s|sadalp\s"
HOLDS = {PAIRED: r"smlal2?\s"}  # what the loop that is judged has, of several: here the one that adds pairs
NEWER = ("_neoni8mm", "_neonbf16")  # levels of cores with matrix products


class Hot(NamedTuple):
    """A kernel whose speed counts: its source, its name, what its arithmetic needs."""

    source: str
    kernel: str
    kind: str


def hot(source, kinds):
    """Rows of one file; its name is what kernels have as level."""
    return [Hot(f"csrc/kernels/{source}", kernel, kind) for kernel, kind in kinds.items()]


HOT = (
    *hot("conv2d/conv2d_neon.c", {
        "nnf_conv2d_f32_nhwc__neon_8x8": MULTIPLY_ADDS,
        "nnf_conv2d_gather_qu8_nhwc__neon_16": rf"{WHOLE}|eor\s+v|uadalp|uaddlp",
    }),
    *hot("conv2d/conv2d_q8_neon.c", {
        "nnf_conv2d_qu8_qs8c_nhwc__neon_24x8k4": PAIRED,
        "nnf_conv2d_qs8_qs8c_nhwc__neon_24x8k4": PAIRED,
        "nnf_conv2d_s32_qu8_qs8c_nhwc__neon_24x8k4": PAIRED,
    }),
    *hot("conv2d/conv2d_neondot.c", {
        "nnf_conv2d_qu8_qs8c_nhwc__neondot_24x8k4": DOT,
        "nnf_conv2d_qs8_qs8c_nhwc__neondot_24x8k4": DOT,
        "nnf_conv2d_s32_qu8_qs8c_nhwc__neondot_24x8k4": DOT,
    }),
    *hot("conv2d/conv2d_neoni8mm.c", {
        "nnf_conv2d_qu8_qs8c_nhwc__neoni8mm_24x16k8": MATRIX,
        "nnf_conv2d_qs8_qs8c_nhwc__neoni8mm_24x16k8": MATRIX,
        "nnf_conv2d_s32_qu8_qs8c_nhwc__neoni8mm_24x16k8": MATRIX,
    }),
    *hot("conv2d/conv2d_bf16_neonbf16.c", {
        "nnf_conv2d_bf16_nhwc__neonbf16_6x16k4": MATRIX,
        "nnf_conv2d_gather_bf16_nhwc__neonbf16_8": rf"{VECTOR}|{WHOLE}",
    }),
    *hot("conv2d_winograd/conv2d_winograd_neon.c", {
        "nnf_conv2d_winograd_input_f32_nhwc__neon_4": rf"{F32}|{WHOLE}",
        "nnf_conv2d_winograd_output_f32_nhwc__neon_4": rf"{F32}|{WHOLE}",
    }),
    *hot("depthwise_conv2d/depthwise_conv2d_neon.c", {
        "nnf_depthwise_conv2d_f32_nhwc__neon_4x8": rf"{F32}|{WHOLE}",
    }),
    *hot("depthwise_conv2d/depthwise_conv2d_neonbf16.c", {
        "nnf_depthwise_conv2d_f32_bf16_nhwc__neonbf16_4x8": rf"{VECTOR}|{ANY}",
    }),
    *hot("depthwise_conv2d/depthwise_conv2d_q8_neon.c", {
        "nnf_depthwise_conv2d_qu8_nhwc__neon_4x16k2": LONG,
        "nnf_depthwise_conv2d_qs8_nhwc__neon_4x16k2": LONG,
    }),
    *hot("depthwise_conv2d/depthwise_conv2d_q8_neondot.c", {
        "nnf_depthwise_conv2d_qu8_nhwc__neondot_4x16k4": DOT,
        "nnf_depthwise_conv2d_qs8_nhwc__neondot_4x16k4": DOT,
    }),
    *hot("gemv/gemv_neon.c", {"nnf_gemv_f32_tile__neon_1x32": rf"{MULTIPLY_ADDS}|{WHOLE}"}),
    *hot("gemv/gemv_rows_neon.c", {
        "nnf_gemv_f32_rows__neon_8": rf"{MULTIPLY_ADDS}|{WHOLE}",
        "nnf_gemv_qs16_qs8_rows__neon_8": rf"{LONG}|{ANY}",
        "nnf_gemv_qs16_qu8_rows__neon_8": rf"{LONG}|{ANY}",
    }),
    *hot("lstm/lstm_neon.c", {
        "nnf_lstm_f32_tile__neon_1x16": rf"{MULTIPLY_ADDS}|{WHOLE}",
        "nnf_lstm_f16_tile__neon_1x16": rf"{MULTIPLY_ADDS}|fcvtl2?\s|{ANY}",
    }),
    *hot("lstm/lstm_rows_neon.c", {"nnf_lstm_f32_rows__neon_4": rf"{VECTOR}|{WHOLE}"}),
    *hot("elementwise/elementwise_neon.c", {
        "nnf_add_f32_flat__neon_4": rf"{F32}|{WHOLE}",
        "nnf_mul_f32_flat__neon_4": rf"{F32}|{WHOLE}",
        "nnf_add_qu8_flat__neon_8": rf"{VECTOR}|{ANY}",
        "nnf_mul_qu8_flat__neon_8": rf"{VECTOR}|{ANY}",
    }),
    *hot("elementwise/elementwise_integer_neon.c", {"nnf_max_qu8_flat__neon_16": rf"{VECTOR}|{WHOLE}"}),
    *hot("activation/activation_neon.c", {
        "nnf_clamp_f32_flat__neon_4": rf"{F32}|{WHOLE}",
        "nnf_logistic_f32_flat__neon_4": rf"{VECTOR}|{WHOLE}",
        "nnf_tanh_f32_flat__neon_4": rf"{VECTOR}|{WHOLE}",
        "nnf_lookup_qu8_flat__neon_16": rf"{VECTOR}|{WHOLE}",
    }),
    *hot("quantize/quantize_neon.c", {
        "nnf_quantize_f32_qu8_flat__neon_8": rf"{VECTOR}|{ANY}",
        "nnf_dequantize_qu8_f32_flat__neon_8": rf"{VECTOR}|{ANY}",
    }),
    *hot("softmax/softmax_neon.c", {"nnf_softmax_f32_rows__neon_4": rf"{VECTOR}|{WHOLE}"}),
)

N1, N2, V1 = (core.cpu for core in CORES[:3])
OWN_SUMS = "LLVM 19 has sums wait 4 cycles for their own additions on this core (22 does not)"
CHAINS = "the chain of dependent instructions is longer than what the core holds in flight"
OVERWRITES = "the multiply-add overwrites an operand that a second one needs, which takes moves"
SPREAD = "codes are spread over lanes, and unsigned ones flipped; with its dot products this core does not run it"
LOWER = {  # kernel and core: the least share, and why it is less than that of the others
    ("nnf_conv2d_f32_nhwc__neon_8x8", V1): (0.72, "gcc 12 moves two sums from register to register; clang does not"),
    ("nnf_conv2d_gather_qu8_nhwc__neon_16", V1): (0.43, OWN_SUMS),
    ("nnf_conv2d_qu8_qs8c_nhwc__neon_24x8k4", N2): (0.75, SPREAD),
    ("nnf_conv2d_qs8_qs8c_nhwc__neon_24x8k4", N2): (0.75, SPREAD),
    ("nnf_conv2d_s32_qu8_qs8c_nhwc__neon_24x8k4", N2): (0.75, SPREAD),
    ("nnf_conv2d_winograd_input_f32_nhwc__neon_4", N1): (0.80, OVERWRITES),
    ("nnf_conv2d_winograd_input_f32_nhwc__neon_4", N2): (0.77, OVERWRITES),
    ("nnf_conv2d_winograd_input_f32_nhwc__neon_4", V1): (0.77, OVERWRITES),
    ("nnf_conv2d_winograd_output_f32_nhwc__neon_4", V1): (0.52, OWN_SUMS),
    ("nnf_gemv_f32_rows__neon_8", V1): (0.74, OWN_SUMS),
    ("nnf_lstm_f32_rows__neon_4", N1): (0.78, CHAINS),
    ("nnf_lstm_f32_rows__neon_4", V1): (0.65, CHAINS),
    ("nnf_add_qu8_flat__neon_8", N1): (0.80, "shifts, for which there is one pipe, wait for others in the model"),
    ("nnf_add_qu8_flat__neon_8", V1): (0.78, "shifts, for which there are two pipes, wait for others in the model"),
    ("nnf_logistic_f32_flat__neon_4", V1): (0.79, CHAINS),
    ("nnf_tanh_f32_flat__neon_4", N1): (0.82, CHAINS),
    ("nnf_tanh_f32_flat__neon_4", V1): (0.81, CHAINS),
}


def analyser():
    """The command of the newest llvm-mca that is installed, if it knows the cores; else None."""
    names = ["llvm-mca", *(f"llvm-mca-{release}" for release in range(OLDEST, NEWEST))]
    for name in reversed(names):
        if shutil.which(name):
            version = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
            release = re.search(r"LLVM version (\d+)", version)
            if release and int(release[1]) >= OLDEST:
                return name
    return None


def rounds(rows):
    """[Round] of kernels, in their order; each source is compiled once."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        def compiled(source):
            target = Path(folder) / (source.replace("/", "_") + ".s")
            subprocess.run([*c_build.compiler(), *c_build.c_flags(source), *c_build.INCLUDES, "-S", source,
                            "-o", target], check=True, cwd=c_build.ROOT, stderr=subprocess.DEVNULL)
            return aarch64_loops.functions(target.read_text())

        sources = sorted({row.source for row in rows})
        assembly = dict(zip(sources, pool.map(compiled, sources), strict=True))
    found = []
    for row in rows:
        one = aarch64_loops.hot_round(assembly[row.source], row.kernel, re.compile(row.kind),
                                      re.compile(HOLDS.get(row.kind, row.kind)))
        if one is None:
            raise SystemExit(f"{row.source}: {row.kernel} has no loop with instructions of its kind, {row.kind}")
        found.append(one)
    return found


def analysed(command, core, blocks):
    """What llvm-mca says of each block of instructions, repeated ROUNDS times and twice as often."""
    text = "".join(f"# LLVM-MCA-BEGIN b{i}\n" + "\n".join(block) + f"\n# LLVM-MCA-END b{i}\n"
                   for i, block in enumerate(blocks))
    said = []
    for iterations in (ROUNDS, 2 * ROUNDS):
        done = subprocess.run([command, "-mtriple=aarch64", f"-mcpu={core.cpu}",
                               "-mattr=+dotprod,+fullfp16,+i8mm,+bf16", "-json", f"-dispatch={core.dispatched}",
                               f"-iterations={iterations}"], input=text, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{command} -mcpu={core.cpu}: {done.stderr.strip()[:400]}")
        said.append(json.loads(done.stdout))
    return said


def cycles(said):
    """[cycles a round]: the difference of two lengths leaves beginnings and ends out."""
    short, long = ([region["SummaryView"]["TotalCycles"] for region in one["CodeRegions"]] for one in said)
    return [(b - a) / ROUNDS for a, b in zip(short, long, strict=True)]


def bounds(said):
    """[cycles that pipes are taken for]: by the pipe most in demand, or by all of a kind where work may go to any."""
    names, found = said[0]["TargetInfo"]["Resources"], []
    for region in said[0]["CodeRegions"]:
        kinds = {}
        for name in names:
            kinds.setdefault(re.sub(r"[\W\d]+$", "", name), [0.0, 0])[1] += 1
        for entry in region["ResourcePressureView"]["ResourcePressureInfo"]:
            if entry["InstructionIndex"] == len(region["Instructions"]):  # the sum
                kinds[re.sub(r"[\W\d]+$", "", names[entry["ResourceIndex"]])][0] += entry["ResourceUsage"]
        found.append(max(region["SummaryView"]["BlockRThroughput"], *(use / pipes for use, pipes in kinds.values())))
    return found


def measured(command, core, rows, found):
    """[(cycles a round, limit), None for what the core does not run] of rounds on a core."""
    runs = [core.has_matrix or c_build.suffix_of(row.source) not in NEWER for row in rows]
    able = [one for one, may in zip(found, runs, strict=True) if may]
    figures = iter(_figures(command, core, able) if able else ())
    return [next(figures) if may else None for may in runs]


def _figures(command, core, found):
    taken = cycles(analysed(command, core, [one.lines for one in found]))
    least = bounds(analysed(command, core, [one.needed for one in found]))
    return [(max(time, len(one.lines) / core.decoded), max(bound, len(one.needed) / core.decoded))
            for one, time, bound in zip(found, taken, least, strict=True)]


def _share(figure):
    """Of the limit, that a figure of `measured` reaches."""
    return figure[1] / figure[0]


def table(rows, found, figures, markdown):
    """Lines: a kernel each, cycles / limit and share on each core."""
    titles = ["kernel", "needed of all", *(core.title for core in CORES)]
    cells = [[row.kernel.removeprefix("nnf_"), f"{len(one.needed)} of {len(one.lines)}",
              *("" if figure is None else f"{figure[0]:.1f} / {figure[1]:.1f}, {_share(figure):.0%}"
                for figure in of_kernel)]
             for row, one, of_kernel in zip(rows, found, figures, strict=True)]
    if markdown:
        return ["| " + " | ".join(line) + " |" for line in (titles, ["---"] + ["---:"] * (len(titles) - 1), *cells)]
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    return ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(line, widths, strict=True))) for line in (titles, *cells)]


def too_low(rows, figures, share):
    """A line for each share of a judged core that is less than it must be."""
    lines = []
    for row, of_kernel in zip(rows, figures, strict=True):
        for core, figure in zip(CORES, of_kernel, strict=True):
            least = min(share, LOWER.get((row.kernel, core.cpu), (share, ""))[0])
            if core.judged and figure is not None and _share(figure) < least:
                lines.append(f"{row.kernel}: {_share(figure):.1%} of the limit on {core.title}, must be {least:.0%}")
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default="", help="only kernels whose name has this")
    parser.add_argument("--share", type=float, default=0.85, help="least share of the limit (0.85), but for LOWER")
    parser.add_argument("--brief", action="store_true", help="only what is too low")
    parser.add_argument("--markdown", action="store_true", help="the table as docs/performance.md has it")
    parser.add_argument("--show", action="store_true", help="the instructions of each round, those needed with a star")
    a = parser.parse_args(arguments)
    rows = [row for row in HOT if a.kernel in row.kernel]
    if not rows:
        parser.error(f"--kernel {a.kernel}: no hot kernel has this in its name; without it all are shown")
    command = analyser()
    if command is None:
        print(f"aarch64 speed: no llvm-mca of LLVM {OLDEST} or newer: skipped")
        return 0
    if c_build.target() != "aarch64":
        parser.error(f"CC={os.environ['CC']}: builds for {c_build.target()}; name a compiler for aarch64")
    found = rounds(rows)
    figures = list(zip(*(measured(command, core, rows, found) for core in CORES), strict=True))
    if a.show:
        for row, one in zip(rows, found, strict=True):
            print(f"{row.kernel}, in {one.function}:")
            print("\n".join(("* " if re.match(row.kind, line) else "  ") + line for line in one.lines))
    if not a.brief:
        print("\n".join(table(rows, found, figures, a.markdown)))
    low = too_low(rows, figures, a.share)
    print("\n".join([*low, f"aarch64 speed: {len(rows)} kernels, {len(low)} shares too low, by {command}"]))
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
