"""`nnfast stress`: crash and stress tests, each in a process of its own (docs/stress.md)."""

import argparse

from ..checks import counted
from .output import Output, above_zero, positive, progress, table


def add_arguments(parser):
    parser.add_argument("--test", action="append", metavar="NAME", help="test to run, may be given several times "
                        "(default: all; --list shows them)")
    parser.add_argument("--list", action="store_true", help="show the tests and end")
    parser.add_argument("--self-test", action="store_true", help="instead: provoke each outcome on purpose, and see "
                        "whether it is told from the others")
    parser.add_argument("--minutes", type=above_zero(), default=1.0, metavar="N", help="of each test (default 1)")
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="of all that is drawn (default 1)")
    parser.add_argument("--via", default="local", help="where the driver is: local, in the clients' processes "
                        "(default); service, in a process of its own; or ndk, so, behind the C library")
    parser.add_argument("--models", metavar="DIR", help="folder with .tflite files (default: those of nnfast)")
    parser.add_argument("--threads", type=positive, metavar="N", help="of each client, instead of the test's number")
    parser.add_argument("--processes", type=positive, metavar="N", help="forked clients, instead of the test's number")
    parser.add_argument("--limit", type=above_zero(), metavar="PERCENT", help="by which latency may grow in "
                        "performance_degradation (default 50)")
    parser.add_argument("--grace", type=above_zero(), metavar="SECONDS", help="after a test's duration until it "
                        "counts as HANG (default: 30, of the parallel tests 20)")
    Output.add_argument(parser)


def seed(text):
    """argparse type: a whole number of at least 0."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number of at least 0")
    return int(text)


def main(args):
    output = Output(args.json)
    if args.list:
        return show_tests(output)
    return provoke(output) if args.self_test else run(args, output)


def show_tests(output):
    from ..stress import TESTS

    rows = [[name, f"{test.minutes:.3g}", test.arguments.get("processes", 1), test.arguments.get("threads", 1),
             f"{100 * test.arguments.get('rate', 1.0 if test.is_killed else 0.0):.0f}", test.what]
            for name, test in TESTS.items()]
    headers = ["test", "minutes", "processes", "threads", "killed %", "what"]
    output.say(table(headers, rows))
    output.finish({"tests": [dict(zip(headers, row)) for row in rows]})
    return 0


def provoke(output):
    from ..stress import run_provocations

    found = run_provocations()
    output.say(table(["program", "must be", "seen as", "detail"],
                     [[row.name, row.wanted, row.seen, row.detail] for row in found]))
    output.finish({"programs": [{"program": row.name, "wanted": row.wanted, "seen": row.seen, "detail": row.detail}
                                for row in found]})
    return int(any(row.seen != row.wanted for row in found))


def run(args, output):
    from ..stress import SUCCESS, find_models
    from ..stress import run as run_tests

    models = find_models(args.models, args.via)
    for path, why in models.skipped:
        output.say(f"left out: {path}: {why}")
    with progress("stress") as move:
        results = run_tests(args.test, args.minutes, args.seed, args.via, models, args.threads, args.processes,
                            args.limit, args.grace, move)
    output.say(table(["test", "outcome", "seconds", "detail"],
                     [[result.name, result.outcome, round(result.seconds, 1), result.detail] for result in results]))
    good = sum(result.outcome == SUCCESS for result in results)
    output.say()
    output.say(f"{good} of {len(results)} SUCCESS; seed {args.seed}, via {args.via}, "
               f"{counted(len(models.paths), 'model')}")
    output.finish({"seed": args.seed, "via": args.via, "minutes": args.minutes, "models": list(models.paths),
                   "left_out": [list(row) for row in models.skipped],
                   "tests": [{"test": result.name, "outcome": result.outcome, "client": result.client,
                              "seconds": result.seconds, "detail": result.detail, "facts": result.facts}
                             for result in results]})
    return 0 if good == len(results) else 1
