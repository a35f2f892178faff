"""`nnfast randgraph`: random graphs on the driver, beside the definitions of their operations (docs/randgraph.md)."""

import argparse

from ..checks import counted
from .output import Output, positive, progress, table

SHOWN_FAILURES = 20


def add_arguments(parser):
    parser.add_argument("--seed", type=seeds, default=range(50), metavar="A..B",
                        help="one graph for each seed from A to B, or of one seed (default 0..49)")
    parser.add_argument("--ops", default="small", metavar="SIZE",
                        help="single: 1 operation; small (default): 5; large: 40 over smaller tensors")
    parser.add_argument("--only", metavar="LIST", help="operations with commas between: draw no other")
    parser.add_argument("--against", default="reference", metavar="DRIVER",
                        help="reference (default): the definitions in numpy; or module:callable of another driver, to "
                             "which the criteria of CTS hold")
    parser.add_argument("--hal", default="canonical", metavar="LIST", help="faces of the driver: canonical (default), "
                                                                           "1.0 to 1.3, with commas between")
    parser.add_argument("--via", default="local", metavar="LIST", help="ways to the driver: local (default), burst, "
                                                                       "service, cache, ndk, with commas between")
    parser.add_argument("--levels", metavar="LIST", help="levels of the kernels, with commas between, or all (default: "
                                                         "the machine's)")
    parser.add_argument("--threads", type=positive, default=2, metavar="N", help="threads of each device (default 2)")
    parser.add_argument("--jobs", type=positive, metavar="N", help="processes (default: one per usable core)")
    parser.add_argument("--dump-failed", default="randgraph_failed", metavar="DIR",
                        help="where each failed graph is written, made small, as a vector file and as a program "
                             "(default randgraph_failed)")
    Output.add_argument(parser)


def seeds(text):
    """argparse type: A..B or A as a range."""
    first, dots, last = text.partition("..")
    last = last if dots else first
    whole = all(part.isascii() and part.isdigit() and len(part) < 19 for part in (first, last))
    if not whole or int(last) < int(first):
        raise argparse.ArgumentTypeError(f"{text}: must be A..B or A, whole numbers of at least 0")
    return range(int(first), int(last) + 1)


def main(args):
    from .._native import kernels
    from ..conformance.randgraph import run

    output = Output(args.json)
    levels = args.levels and (kernels.levels() if args.levels == "all" else args.levels.split(","))
    with progress("graphs") as move:
        results = run(args.seed, args.ops, args.against, args.hal.split(","), args.via.split(","), levels, args.only,
                      args.threads, args.jobs, args.dump_failed, move)
    report(results, output.say)
    output.finish(results.to_json())
    return 1 if results.failed else 0


def report(results, say):
    """Verdicts by subject, failures, and the total."""
    from ..conformance.randgraph.results import VERDICTS

    say(table(["subject", *(verdict.replace("_", " ") for verdict in VERDICTS)],
              [[subject, *(counts[verdict] for verdict in VERDICTS)] for subject, counts in results.counts.items()]))
    if results.failures:
        say()
    for result in results.failures[:SHOWN_FAILURES]:
        say(f"FAILED seed {result.seed} on {result.subject}: {result.reason}" +
            (f"; see {result.file}" if result.file else ""))
    if len(results.failures) > SHOWN_FAILURES:
        say(f"... and {len(results.failures) - SHOWN_FAILURES} more; --json FILE lists all")
    say()
    say(f"{counted(results.graphs, 'graph')} in {results.seconds:.1f} s, {results.failed} failed")
