"""`nnfast library`: where libneuralnetworks.so and its headers are, for compilers (docs/library.md)."""

from pathlib import Path

from ..errors import InvalidArgument

PACKAGE = Path(__file__).resolve().parents[1]


def add_arguments(parser):
    parser.add_argument("--path", action="store_true", help="the library's file (default)")
    parser.add_argument("--cflags", action="store_true",
                        help="what a compiler needs to find <android/NeuralNetworks.h>")
    parser.add_argument("--libs", action="store_true", help="what a linker needs; the program finds the library there")


def main(args):
    library, include = PACKAGE / "lib" / "libneuralnetworks.so", PACKAGE / "include"
    if not library.exists():
        raise InvalidArgument(f"{library}: is not there; build it with python setup.py build_ext --inplace, or install "
                              f"nnfast")
    words = [f"-I{include}"] if args.cflags else []
    if args.libs:
        words += [f"-L{library.parent}", f"-Wl,-rpath,{library.parent}", "-lneuralnetworks"]
    if args.path or not words:
        words.insert(0, str(library))
    print(*words)
    return 0
