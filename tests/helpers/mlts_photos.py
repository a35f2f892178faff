"""The seven MLTS classifiers on the shared photos: top-1, and outputs compared with those of LiteRT byte by byte.

    python -m helpers.mlts_photos [--photos N] [--only TEXT] [--threads N] [--litert]          # in tests/

The pictures are cut, resized and encoded as the benchmark does it [NN 16.8]. Top-1 depends on the way of
resizing: other choices of filter, pixel centre and rounding move a net by up to a dozen of 200 photos, so the
published column is a neighbour and no exact expectation; the comparison of bytes does not depend on it. --litert runs
LiteRT's reference kernels (BUILTIN_REF) on the same input bytes; it needs the package ai_edge_litert. Exit code 1 when
an output of a quantized net differs.
"""

import argparse
import os
import sys
from dataclasses import dataclass

import numpy as np

import nnfast
from helpers.shared import shared
from nnfast.cli import image
from nnfast.cli.output import positive, progress, table

# Share of the first 200 photos that LiteRT with XNNPACK classifies right (models/mlts/README.md).
NETS = {
    "mobilenet_v1_0.25_128": 0.435,
    "mobilenet_v1_0.25_128_quant": 0.375,
    "mobilenet_v1_0.5_160_quant": 0.510,
    "mobilenet_v1_0.75_192_quant": 0.610,
    "mobilenet_v2_1.0_224_quant": 0.630,
    "mobilenet_v3-small_224_1.0_uint8": 0.585,
    "mobilenet_v3-large-minimalistic_224_1.0_uint8": 0.595,
}


def folder():
    """Where the shared MLTS models and photos are."""
    return str(shared() / "models" / "mlts")


def classes():
    """True class number of each photo, in order; the lowest where several classes share a name."""
    def lines(name):
        with open(f"{folder()}/photos/{name}.txt", encoding="utf-8") as stream:
            return stream.read().splitlines()

    numbers = {label: number for number, label in reversed(list(enumerate(lines("labels"))))}
    return [numbers[label] for label in lines("ground_truth_labels")]


def photo(index):
    """Middle square of a photo, bytes [side, side, 3]."""
    return image.crop(image.load(f"{folder()}/photos/image-{index}.jpeg"))


class LiteRT:
    """LiteRT's reference kernels on one model file."""

    def __init__(self, path):
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        self.interpreter = Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
        self.interpreter.allocate_tensors()

    def run(self, x):
        """First output for one input array."""
        self.interpreter.set_tensor(self.interpreter.get_input_details()[0]["index"], x)
        self.interpreter.invoke()
        return self.interpreter.get_tensor(self.interpreter.get_output_details()[0]["index"])


def encode(pixels, entry):
    """Input values of pixels as the benchmark's evaluators make them: f = v * 2 / 255 - 1 for a network of floats, for
    uint8 trunc(f / scale + zero point) & 255, so that the brightest value can wrap to 0 [NN 16.8].
    """
    real = pixels.astype(np.float32) * np.float32(2) / np.float32(255) - np.float32(1)
    if entry.dtype != np.uint8:
        return real.astype(entry.dtype)
    steps = np.trunc(real / np.float32(entry.scale) + np.float32(entry.zero_point))
    return (steps.astype(np.int32) & 255).astype(np.uint8)


@dataclass
class Score:
    """What one net did so far; the differences are those from LiteRT's reference kernels."""

    photos: int = 0
    right: int = 0
    differing_photos: int = 0
    differing_values: int = 0
    largest: float = 0.0

    def add(self, output, expected_class, reference=None):
        """Count one photo; output, reference: [1, classes]. The lowest of equal scores wins."""
        self.photos += 1
        self.right += int(output.argmax() == expected_class)
        if reference is not None:
            difference = np.abs(output.astype(np.float64) - reference)
            self.differing_photos += bool(difference.any())
            self.differing_values += int((difference > 0).sum())
            self.largest = max(self.largest, float(difference.max()))


class Net:
    """One classifier, its input format, its score, and LiteRT beside it where asked for."""

    def __init__(self, name, threads=1, litert=False):
        path = f"{folder()}/{name}.tflite"
        self.prepared = nnfast.Device(num_threads=threads).prepare(nnfast.load(path))
        self.litert = LiteRT(path) if litert else None
        self.quantized = self.prepared.outputs[0].dtype != np.float32
        self.score = Score()

    def classify(self, square, expected_class):
        """Run on a square picture and count the result; returns the output [1, classes]."""
        entry = self.prepared.inputs[0]
        pixels = image.resize(square, *entry.shape[1:3])
        x = encode(pixels, entry)[None]
        output, = self.prepared.run([x])
        self.score.add(output, expected_class, self.litert.run(x) if self.litert else None)
        return output


def report(nets, litert):
    """Text of the table of {name: Net}."""
    headers = ["net", "photos", "right", "top-1", "LiteRT/XNNPACK, first 200"]
    if litert:
        headers += ["photos that differ", "values that differ", "largest difference"]
    rows = []
    for name, net in nets.items():
        score = net.score
        row = [name, score.photos, score.right, round(score.right / score.photos, 4), NETS[name]]
        rows.append(row + [score.differing_photos, score.differing_values, score.largest] if litert else row)
    return table(headers, rows)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="mlts_photos", description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=positive, default=200, metavar="N", help="the first N photos (default: 200)")
    parser.add_argument("--only", default="", metavar="TEXT", help="nets whose name has this text")
    parser.add_argument("--threads", type=positive, default=1, metavar="N", help="threads of nnfast (default: 1)")
    parser.add_argument("--litert", action="store_true", help="compare with LiteRT's reference kernels")
    options = parser.parse_args(arguments)
    if not os.path.isdir(folder()):
        parser.error(f"{folder()}: no such folder; NNFAST_SHARED names the one with the shared models")
    expected = classes()[:options.photos]
    nets = {name: Net(name, options.threads, options.litert) for name in NETS if options.only in name}
    if not nets:
        parser.error(f"--only {options.only}: no net has this in its name")
    with progress("photos") as step:
        for index, expected_class in enumerate(expected):
            square = photo(index)
            for net in nets.values():
                net.classify(square, expected_class)
            step(index + 1, len(expected))
    print(report(nets, options.litert))
    return int(any(net.quantized and net.score.differing_photos for net in nets.values()))


if __name__ == "__main__":
    sys.exit(main())
