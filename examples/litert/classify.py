"""Classify pictures and name the classes: the best three of each, with their probabilities.

    python classify.py [MODEL] [--pictures F.npz] [--labels F] [--count N]

MODEL: float classifier [1, height, width, channels] -> [1, classes]; by default the digits that ship with nnfast.
"""

import argparse
from pathlib import Path

import numpy as np

import nnfast.litert as tflite

DATA = Path(__file__).resolve().parents[2] / "nnfast" / "data"
DIGITS = "zero one two three four five six seven eight nine".split()

parser = argparse.ArgumentParser()
parser.add_argument("model", nargs="?", default=str(DATA / "digits_float32.tflite"))
parser.add_argument("--pictures", default=str(DATA / "digits.npz"), help=".npz with `images`, values 0 to 16")
parser.add_argument("--labels", help="text file with a name for each class")
parser.add_argument("--count", type=int, default=5, help="how many pictures")
args = parser.parse_args()
labels = Path(args.labels).read_text().splitlines() if args.labels else DIGITS

interpreter = tflite.Interpreter(model_path=args.model, num_threads=1)
interpreter.allocate_tensors()
source, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]

for number, picture in enumerate(np.load(args.pictures)["images"][:args.count]):
    pixels = picture.reshape(source["shape"]).astype(source["dtype"]) / np.float32(16)
    interpreter.set_tensor(source["index"], pixels)
    interpreter.invoke()
    scores = interpreter.get_tensor(result["index"])[0]
    best = np.argsort(-scores, kind="stable")[:3]
    print(f"picture {number}:", ", ".join(f"{labels[place]} {scores[place]:.3f}" for place in best))
