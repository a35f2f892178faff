"""Entry point of the `nnfast` command: finds the subcommand, and turns errors into one line and an exit code.

Exit codes: 0 well, 1 the command's own "no" (a test failed), 2 bad input, 130 interrupted, 141 the reader of our output
went away.
"""

import argparse
import os
import sys
from importlib import import_module

from ..errors import Error
from ..extras import missing
from ..version import __version__

COMMANDS = {
    "info": "CPU level, threads, knobs, kernels and operations",
    "doctor": "what is installed, what the system allows, whether it works; what to do about what is odd",
    "run": "run a model on an image or on arrays",
    "batch": "run a model over folders of pictures, arrays and tables, and go on where it stopped",
    "explain": "show how each operation of a model runs, and the memory it takes",
    "dump": "write the graph of a model as Graphviz text, or draw it",
    "view": "write the graph of a model as a web page to pan, search and click, with kernels and times",
    "benchmark": "time models, beside LiteRT where it is installed; each operation against the machine's limits; rings",
    "mlts": "latency and accuracy of models on real data, as Android's Machine Learning Test Suite measures them",
    "check": "hold every operator of a .tflite file against LiteRT's reference kernels",
    "trace": "sum up a trace by layer and phase",
    "serve": "be the driver's process for any number of clients (nnfast.connect)",
    "health": "tell whether the driver's process answers: exit code 0 or 1",
    "library": "where libneuralnetworks.so and its headers are, for compilers of C programs",
    "top": "show who uses the driver's process, how much and how fast",
    "vts": "run conformance vectors against the driver",
    "stress": "crash and stress tests: clients that load, run, die and hang, each in a process of its own",
    "randgraph": "run random graphs, beside the definitions of their operations",
    "fuzz": "try inputs that are wrong or odd: files, messages, sessions; guided by coverage",
    "completion": "print a script that completes commands and options in bash, zsh or fish",
    "demo": "classify handwritten digits with the models that come with nnfast",
}

ON_MODELS = ("info", "run", "batch", "explain", "dump", "view", "benchmark", "check", "mlts")
"""Commands that know the vendor extensions of installed packages."""


class Parser(argparse.ArgumentParser):
    """ArgumentParser whose errors are one line."""

    def error(self, message):
        self.exit(2, f"nnfast: error: {one_line(message)} (see {self.prog} --help)\n")


class _Version(argparse.Action):
    def __call__(self, parser, *_):
        print(f"nnfast {__version__}")
        parser.exit()


def one_line(value):
    """Text of an error or message without line breaks."""
    if isinstance(value, OSError) and value.strerror:
        value = f"{value.filename}: {value.strerror}" if value.filename else value.strerror
    return " ".join(str(value).split())


def build_parser(chosen):
    """The parser; only the chosen command is imported and gets its arguments."""
    parser = Parser(prog="nnfast", description="A CPU driver for the Android Neural Networks HAL.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    module = None
    for name, text in COMMANDS.items():
        subparser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name == chosen:
            module = import_module(f".{name}", __package__)
            module.add_arguments(subparser)
    return parser, module


def load_extensions():
    """Register the extensions of installed packages; one that cannot be is told, and left out."""
    from ..extensions import load_installed

    def failed(entry, error):
        print(f"nnfast: extension {entry.value} is left out: {type(error).__name__}: {one_line(error)}",
              file=sys.stderr)

    load_installed(failed)


def main(argv=None):
    """Run the command with these arguments (default: those of the process); returns the exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        parser, module = build_parser(argv[0] if argv else None)
        args = parser.parse_args(argv)
        if args.command in ON_MODELS:
            load_extensions()
        code = module.main(args) or 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # What is still buffered cannot be written; let the interpreter's last flush go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except ModuleNotFoundError as error:
        missed = missing(error.name or "")
        if missed is None:
            raise
        print(f"nnfast: error: {one_line(missed)}", file=sys.stderr)
        return 2
    except (Error, OSError) as error:
        print(f"nnfast: error: {one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("nnfast: interrupted", file=sys.stderr)
        return 130
