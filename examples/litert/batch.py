"""Resize the input to a batch and classify many pictures at a time: accuracy over the held-out digits.

    python batch.py [MODEL] [--batch N]
"""

import argparse
from pathlib import Path

import numpy as np

import nnfast.litert as tflite

DATA = Path(__file__).resolve().parents[2] / "nnfast" / "data"

parser = argparse.ArgumentParser()
parser.add_argument("model", nargs="?", default=str(DATA / "digits_float32.tflite"))
parser.add_argument("--batch", type=int, default=100)
args = parser.parse_args()
with np.load(DATA / "digits.npz") as data:
    images, labels = data["images"][..., None].astype(np.float32) / 16, data["labels"]

interpreter = tflite.Interpreter(model_path=args.model)
source, result = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
right = 0
for start in range(0, len(images), args.batch):
    batch = images[start:start + args.batch]
    if list(interpreter.get_input_details()[0]["shape"]) != list(batch.shape):
        interpreter.resize_tensor_input(source, batch.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(source, batch)
    interpreter.invoke()
    found = interpreter.get_tensor(result).argmax(1)
    right += int((found == labels[start:start + args.batch]).sum())
    print(f"{len(batch)} pictures, outputs of shape {interpreter.get_output_details()[0]['shape'].tolist()}")
print(f"{right} of {len(images)} right")
