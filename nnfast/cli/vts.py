"""`nnfast vts`: conformance vectors against the driver [NN 16]."""

from ..errors import InvalidArgument
from .output import Output, add_trace_argument, check_target, positive, progress, rich_table, table, tracing

SHOWN_FAILURES = 20


def add_arguments(parser):
    parser.add_argument("paths", nargs="+", metavar="PATH", help="vector file (*.json.gz) or folder with such files")
    parser.add_argument("--kind", action="append", metavar="K",
                        help="kind of test, may be given several times (default: all that are built)")
    parser.add_argument("--hal", default="canonical", help="face of the driver: canonical (default) or 1.0 to 1.3")
    parser.add_argument("--via", default="local",
                        help="way to the driver: local (default), burst, service, cache, ndk or definitions")
    parser.add_argument("--ops", metavar="LIST", help="operations with commas between: only tests that use no other")
    parser.add_argument("-k", dest="pattern", metavar="PATTERN", help="only tests whose name matches this expression")
    parser.add_argument("--sample", type=positive, metavar="N", help="only N tests of each kind, drawn by --seed")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which sample (default 1)")
    parser.add_argument("--jobs", type=positive, metavar="N", help="processes (default: one per usable core)")
    parser.add_argument("--threads", type=positive, default=1, metavar="N",
                        help="threads of the device in each process (default 1)")
    parser.add_argument("--dump-failed", metavar="DIR",
                        help="write each failed test there, as a vector file and as a Python program that shows it")
    parser.add_argument("--html", metavar="F", help="also write a web page: verdict, sortable tables, all failures")
    add_trace_argument(parser)
    Output.add_argument(parser)


def main(args):
    from ..conformance import run

    output = Output(args.json)
    if args.html:
        check_target(args.html)
    kinds = [kind for text in args.kind for kind in text.split(",")] if args.kind else None
    with tracing(args.trace, "nnfast vts") as recorder, progress("vectors") as move:
        results = run(args.paths, hal=args.hal, via=args.via, kinds=kinds, ops=args.ops, pattern=args.pattern,
                      jobs=args.jobs, threads=args.threads, sample=args.sample, seed=args.seed, recorder=recorder,
                      folder=args.dump_failed, progress=lambda done, total, result: move(done, total, result.name))
    if not results.tests:
        raise InvalidArgument("no test matches the given paths, kinds, operations and pattern")
    report(results, output.say)
    if args.html:
        write_html(args.html, args, results)
    output.finish(results.to_json())
    return 1 if results.failed else 0


def report(results, say):
    """Counts per kind and mutation, worst error per type, failures, rules that excuse skips, and the total."""
    for place, (headers, rows) in enumerate(tables_of(results)):
        if place:
            say()
        say(table(headers, rows))
    failed = failures_of(results)
    if failed:
        say()
    for line in failed[:SHOWN_FAILURES]:
        say(f"FAILED {line}")
    if len(failed) > SHOWN_FAILURES:
        say(f"... and {len(failed) - SHOWN_FAILURES} more; --json FILE lists all")
    for line in skips_of(results):
        say(line)
    say()
    say(total_of(results))


def tables_of(results):
    """(headers, rows) of the tables that have something to say."""
    yield (["kind", "passed", "failed", "skipped", "not applicable"],
           [[kind, *counts.values()] for kind, counts in results.by_kind().items()])
    mutations = results.mutations()
    if mutations:
        rows = [[rule, *counts.values()] for rule, counts in mutations.items()]
        total = ["all", *(sum(column) for column in list(zip(*rows))[1:])]
        yield ["mutation of the model", "tried", "refused", "accepted", "crashed"], [*rows, total]
    worst = results.worst()
    if worst:
        yield (["output type", "worst error", "of tolerance", "in test"],
               [[name, f"{error:.3g}", f"{share:.1%}", test] for name, (error, share, test) in worst.items()])


def failures_of(results):
    """A line for each failed test."""
    return [f"{test.source} {test.name} [{test.kind}]: {test.reason}" for test in results.tests
            if test.outcome == "failed"]


def skips_of(results):
    """A line for each rule that excuses skips."""
    from ..conformance.steps import SKIP_RULES

    reasons = [test.reason for test in results.tests if test.outcome == "skipped"]
    counts = ((rule, sum(rule in reason for reason in reasons)) for rule in SKIP_RULES)
    return [f"{count} skipped: {rule}" for rule, count in counts if count]


def total_of(results):
    return (f"{results.passed} passed, {results.failed} failed, {results.skipped} skipped, "
            f"{results.not_applicable} not applicable in {results.seconds:.1f} s")


def write_html(path, args, results):
    """A page with the verdict, what ran, the tables, and all failures."""
    from rich.text import Text

    from .. import __version__
    from .._native import kernels
    from ..driver.capabilities import processor
    from . import page

    verdict = page.badge(f"{results.failed} failed" if results.failed else "all good",
                         "red" if results.failed else "green")
    parts = [f"<h1>nnfast vts {verdict}</h1>\n", page.paragraph(total_of(results)),
             page.paragraph(f"nnfast {__version__}, {processor()}, level {kernels.level()}, face {args.hal}, way "
                            f"{args.via}: {', '.join(args.paths)}")]
    for headers, rows in tables_of(results):
        right = [all(isinstance(row[place], int) for row in rows) for place in range(len(headers))]
        names = [f">{name}" if to_right else name for name, to_right in zip(headers, right)]
        parts.append(page.table(rich_table(None, names, [[Text(str(cell)) for cell in row] for row in rows])))
    parts += [page.listing("Failed", failures_of(results)), page.listing("Skipped", skips_of(results))]
    page.write_document(path, "nnfast vts", "".join(parts))
