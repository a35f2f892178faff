"""`nnfast trace`: a trace, checked and summed up by layer and phase."""

from .output import Output, positive, table, waiting

SHOWN = 15


def add_arguments(parser):
    parser.add_argument("trace", metavar="F", help="trace of `nnfast run --trace F`, benchmark or vts")
    parser.add_argument("--top", type=positive, default=SHOWN, metavar="N",
                        help=f"marks with the most time to show (default {SHOWN})")
    Output.add_argument(parser)


def main(args):
    from ..bench import marks

    output = Output(args.json)
    with waiting("read"):
        roots = marks.read(args.trace)
        cells, found = marks.totals(roots), marks.details(roots)
    phases = [phase for phase in marks.PHASES if any(key[1] == phase for key in cells)]
    layers = [layer for layer in marks.LAYERS if any(key[0] == layer for key in cells)]
    output.say("milliseconds by layer and phase; parts of an execution (inputs, outputs to results) are counted in it")
    output.say(table(["layer", *(marks.PHASES[phase] for phase in phases)], [
        [marks.LAYERS[layer], *(f"{cells[layer, phase][0] / 1e3:.3f}" if (layer, phase) in cells else "n/a"
                                for phase in phases)] for layer in layers]))
    output.say()
    longest = sorted(found.items(), key=lambda item: -item[1][0])[:args.top]
    output.say(table(["mark", "detail", "count", "ms"], [
        [f"{layer}_{phase}", detail, count, float(f"{us / 1e3:.3f}")]
        for (layer, phase, detail), (us, count) in longest]))
    output.finish({
        "version": 1, "trace": args.trace, "unit": "us",
        "totals": [{"layer": layer, "phase": phase, "us": us, "count": count}
                   for (layer, phase), (us, count) in sorted(cells.items())],
        "marks": [{"layer": layer, "phase": phase, "detail": detail, "us": us, "count": count}
                  for (layer, phase, detail), (us, count) in sorted(found.items())]})
    return 0
