"""`nnfast vts`: conformance vectors against the driver [NN 16]."""

from ..errors import InvalidArgument
from .output import Output, add_trace_argument, positive, progress, table, tracing

SHOWN_FAILURES = 20


def add_arguments(parser):
    parser.add_argument("paths", nargs="+", metavar="PATH", help="vector file (*.json.gz) or folder with such files")
    parser.add_argument("--kind", action="append", metavar="K",
                        help="kind of test, may be given several times (default: all that are built)")
    parser.add_argument("--hal", default="canonical", help="face of the driver: canonical (default) or 1.0 to 1.3")
    parser.add_argument("--via", default="local", help="way to the driver: local (default), burst, service or cache")
    parser.add_argument("--ops", metavar="LIST", help="operations with commas between: only tests that use no other")
    parser.add_argument("-k", dest="pattern", metavar="PATTERN", help="only tests whose name matches this expression")
    parser.add_argument("--sample", type=positive, metavar="N", help="only N tests of each kind, drawn by --seed")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which sample (default 1)")
    parser.add_argument("--jobs", type=positive, metavar="N", help="processes (default: one per usable core)")
    parser.add_argument("--threads", type=positive, default=1, metavar="N",
                        help="threads of the device in each process (default 1)")
    parser.add_argument("--dump-failed", metavar="DIR",
                        help="write each failed test there, as a vector file and as a Python program that shows it")
    add_trace_argument(parser)
    Output.add_argument(parser)


def main(args):
    from ..conformance import run

    output = Output(args.json)
    kinds = [kind for text in args.kind for kind in text.split(",")] if args.kind else None
    with tracing(args.trace, "nnfast vts") as recorder, progress("vectors") as move:
        results = run(args.paths, hal=args.hal, via=args.via, kinds=kinds, ops=args.ops, pattern=args.pattern,
                      jobs=args.jobs, threads=args.threads, sample=args.sample, seed=args.seed, recorder=recorder,
                      folder=args.dump_failed, progress=lambda done, total, result: move(done, total, result.name))
    if not results.tests:
        raise InvalidArgument("no test matches the given paths, kinds, operations and pattern")
    report(results, output.say)
    output.finish(results.to_json())
    return 1 if results.failed else 0


def report(results, say):
    """Counts per kind and mutation, worst error per type, failures, rules that excuse skips, and the total."""
    from ..conformance.steps import SKIP_RULES

    kinds = results.by_kind()
    say(table(["kind", "passed", "failed", "skipped", "not applicable"],
              [[kind, *counts.values()] for kind, counts in kinds.items()]))
    mutations = results.mutations()
    if mutations:
        say()
        rows = [[rule, *counts.values()] for rule, counts in mutations.items()]
        total = ["all", *(sum(column) for column in list(zip(*rows))[1:])]
        say(table(["mutation of the model", "tried", "refused", "accepted", "crashed"], [*rows, total]))
    worst = results.worst()
    if worst:
        say()
        say(table(["output type", "worst error", "of tolerance", "in test"],
                  [[name, f"{error:.3g}", f"{share:.1%}", test] for name, (error, share, test) in worst.items()]))
    failed = [test for test in results.tests if test.outcome == "failed"]
    if failed:
        say()
    for test in failed[:SHOWN_FAILURES]:
        say(f"FAILED {test.source} {test.name} [{test.kind}]: {test.reason}")
    if len(failed) > SHOWN_FAILURES:
        say(f"... and {len(failed) - SHOWN_FAILURES} more; --json FILE lists all")
    skipped = [test.reason for test in results.tests if test.outcome == "skipped"]
    for rule in SKIP_RULES:
        count = sum(rule in reason for reason in skipped)
        if count:
            say(f"{count} skipped: {rule}")
    say()
    say(f"{results.passed} passed, {results.failed} failed, {results.skipped} skipped, "
        f"{results.not_applicable} not applicable in {results.seconds:.1f} s")
