"""`nnfast fuzz`: bytes of strangers and whole sessions, guided by coverage (docs/fuzz.md)."""

from ..checks import counted
from .output import Output, above_zero, positive, progress, table
from .stress import seed


def add_arguments(parser):
    parser.add_argument("--target", action="append", metavar="NAME", help="what to fuzz, may be given several times "
                        "(default: all; --list shows them)")
    parser.add_argument("--list", action="store_true", help="show the targets and end")
    parser.add_argument("--runs", type=positive, metavar="N", help="inputs of each target")
    parser.add_argument("--minutes", type=above_zero(), metavar="M", help="of each target (default 1 without --runs)")
    parser.add_argument("--seed", type=seed, metavar="S", help="of all that is drawn (default: another each time)")
    parser.add_argument("--corpus", metavar="DIR", help="inputs to begin with, a folder for each target; gets what "
                        "reaches new code (default: those of nnfast, nothing is kept)")
    parser.add_argument("--dump", default="fuzz_found", metavar="DIR", help="where inputs that crash, hang or raise "
                        "something are written, each with a report (default fuzz_found)")
    parser.add_argument("--replay", nargs="+", metavar="FILE", help="try these inputs of the one --target again, and "
                        "tell what they do")
    Output.add_argument(parser)


def main(args):
    output = Output(args.json)
    if args.list:
        return show_targets(output)
    return replay(args, output) if args.replay else run(args, output)


def show_targets(output):
    from ..fuzz import TARGETS

    headers = ["target", "bytes", "what"]
    rows = [[name, target.most, target.what] for name, target in TARGETS.items()]
    output.say(table(headers, rows))
    output.finish({"targets": [dict(zip(headers, row)) for row in rows]})
    return 0


def replay(args, output):
    from ..errors import InvalidArgument
    from ..fuzz import replay as try_again

    if len(args.target or ()) != 1:
        raise InvalidArgument("--replay needs one --target, that of the inputs")
    told, reason = try_again(args.target[0], args.replay)
    output.say(told.rstrip())
    nothing = f"{counted(len(args.replay), 'input')}, nothing found"
    output.say(f"FOUND {args.target[0]}: {reason}" if reason else nothing)
    output.finish({"target": args.target[0], "files": args.replay, "reason": reason})
    return 1 if reason else 0


def run(args, output):
    from ..fuzz import run as run_targets
    from ..fuzz.runner import replay_command

    with progress("fuzz") as move:
        results = run_targets(args.target, args.runs, args.minutes, args.seed, args.dump, args.corpus, move)
    output.say(table(["target", "inputs", "seconds", "coverage", "corpus", "MiB", "outcome"],
                     [[result.target, result.runs, result.seconds,
                       "by chance" if result.coverage is None else "{} to {}".format(*result.coverage), result.corpus,
                       result.mib, "FOUND" if result.reason else "good"] for result in results]))
    found = [result for result in results if result.reason]
    output.say()
    for result in found:
        output.say(f"FOUND {result.target}: {result.reason}")
        if result.file:
            output.say(f"  {replay_command(result.target, result.file)}")
    if any(result.coverage is None for result in results):
        output.say("by chance, not guided by coverage: atheris is not installed (pip install 'nnfast[fuzz]')")
    inputs = sum(result.runs for result in results)
    output.say(f"{counted(inputs, 'input')}, {len(found)} of {len(results)} targets with a finding")
    output.finish({"seed": args.seed, "targets": [result.to_json() for result in results]})
    return 1 if found else 0
