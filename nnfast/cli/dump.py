"""`nnfast dump`: the graph of a model as Graphviz text, and as a picture where Graphviz is installed."""

import os
import shutil
import subprocess

from ..checks import counted
from ..errors import GeneralFailure, InvalidArgument
from .output import Output, check_target, waiting

PICTURES = (".png", ".svg", ".pdf")
RENDER_SECONDS = 300


def add_arguments(parser):
    parser.add_argument("model", metavar="MODEL", help="model file (.tflite)")
    parser.add_argument("--dot", metavar="F", help="write the Graphviz text to this file (default: to stdout)")
    parser.add_argument("--image", metavar="F", help=f"draw it with Graphviz's `dot`: {', '.join(PICTURES)}")
    Output.add_argument(parser)


def main(args):
    import nnfast

    from ..compiler.resolve import resolve
    from ..extensions import registered
    from ..model.dump import to_dot

    output = Output(args.json)
    for path in filter(None, (args.dot, args.image)):
        check_target(path)
    program = find_program(args.image) if args.image else None
    with waiting("load"):
        model = nnfast.load(args.model)
        text = to_dot(resolve(model, registered()))
    if args.dot:
        with open(args.dot, "w", encoding="utf-8") as stream:
            stream.write(text)
        output.say(f"{args.dot}: {counted(len(model.main.operations), 'operation')}, "
                   f"{counted(len(model.main.operands), 'operand')}")
    if args.image:
        with waiting("draw"):
            render(program, text, args.image)
        output.say(f"{args.image}: drawn by {program}")
    if not args.dot and not args.image:
        output.say(text.rstrip("\n"))
    output.finish({"model": args.model, "operations": len(model.main.operations),
                   "operands": len(model.main.operands), "subgraphs_omitted": len(model.referenced), "dot": text})
    return 0


def find_program(path):
    """Path of the `dot` program that can draw into a file of this name."""
    if os.path.splitext(path)[1].lower() not in PICTURES:
        raise InvalidArgument(f"--image {path}: must end in {', '.join(PICTURES)}")
    program = shutil.which("dot")
    if program is None:
        raise InvalidArgument(f"--image {path}: the program `dot` is not installed (package graphviz); --dot writes "
                              f"the text for it")
    return program


def render(program, text, path):
    """Draw Graphviz text into a file."""
    command = [program, f"-T{os.path.splitext(path)[1][1:].lower()}", "-o", path]
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=RENDER_SECONDS)
    except subprocess.TimeoutExpired:
        raise GeneralFailure(f"{path}: `dot` took longer than {RENDER_SECONDS} s") from None
    if done.returncode:
        raise GeneralFailure(f"{path}: `dot` failed: {done.stderr}")
