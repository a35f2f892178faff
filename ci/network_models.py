"""Models of whole networks, of the families that people run, with drawn weights.

    python ci/network_models.py FOLDER [--large] [--only TEXT]
    nnfast benchmark FOLDER/*.tflite

Single layers do not show what joining, planning of memory and hand-over from layer to layer do; the networks do. Each
is there in float32, in int8 with a scale for each unit, and with int8 weights for float inputs ("hybrid"), where that
makes sense. They are smaller than those of the papers, with the same layers in the same order. Values are drawn with a
fixed seed. --large writes others, 2 GB of them: of the papers' sizes, with weights from beyond the caches. It needs the
packages of the tests.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from networks import classifiers, large, pictures, sequences  # noqa: E402

from helpers.tflite.networks import Net  # noqa: E402

NETWORKS = {**classifiers.NETWORKS, **pictures.NETWORKS, **sequences.NETWORKS}
"""Network -> what it is there in."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--large", action="store_true", help="networks whose weights are more than caches hold")
    parser.add_argument("--only", default="", metavar="TEXT", help="models whose name has this")
    options = parser.parse_args()
    networks = large.NETWORKS if options.large else NETWORKS
    models = {f"{network.__name__}_{kind}": (network, kind) for network, kinds in networks.items() for kind in kinds}
    chosen = [name for name in models if options.only in name]
    if not chosen:
        parser.error(f"--only {options.only}: no model has this in its name, must be part of one of "
                     + ", ".join(models))
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        network, kind = models[name]
        (options.folder / f"{name}.tflite").write_bytes(network(Net(kind)))


if __name__ == "__main__":
    main()
