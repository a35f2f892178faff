"""`nnfast library`: where libneuralnetworks.so and its headers are, for compilers (docs/library.md)."""

from pathlib import Path

from ..errors import InvalidArgument

PACKAGE = Path(__file__).resolve().parents[1]
LIBRARY, HEADERS = PACKAGE / "lib" / "libneuralnetworks.so", PACKAGE / "include"
PKG_CONFIG, CMAKE = PACKAGE / "lib" / "pkgconfig", PACKAGE / "lib" / "cmake" / "neuralnetworks"


def add_arguments(parser):
    parser.add_argument("--path", action="store_true", help="the library's file (default)")
    parser.add_argument("--cflags", action="store_true",
                        help="what a compiler needs to find <android/NeuralNetworks.h>")
    parser.add_argument("--libs", action="store_true", help="what a linker needs; the program finds the library there")
    parser.add_argument("--pkg-config", action="store_true", help="the folder for PKG_CONFIG_PATH")
    parser.add_argument("--cmake", action="store_true", help="the folder for -Dneuralnetworks_DIR= of cmake")


def main(args):
    if not LIBRARY.exists():
        raise InvalidArgument(f"{LIBRARY}: is not there; build it with python setup.py build_ext --inplace, or install "
                              f"nnfast")
    words = [f"-I{HEADERS}"] if args.cflags else []
    if args.libs:
        words += [f"-L{LIBRARY.parent}", f"-Wl,-rpath,{LIBRARY.parent}", "-lneuralnetworks"]
    words += [str(folder) for folder, asked in ((PKG_CONFIG, args.pkg_config), (CMAKE, args.cmake)) if asked]
    if args.path or not words:
        words.insert(0, str(LIBRARY))
    print(*words)
    return 0
