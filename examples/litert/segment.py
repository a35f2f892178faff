"""Segment a picture: the class of every pixel, drawn as letters, and the share of each class.

    python segment.py MODEL [--image F.npy]

MODEL: float [1, height, width, 3] -> [1, height, width, classes] scores. Without a picture: a disc.
"""

import argparse

import numpy as np

import nnfast.litert as tflite

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("--image", help=".npy [height, width, 3], values 0 to 1")
args = parser.parse_args()

interpreter = tflite.Interpreter(model_path=args.model)
interpreter.allocate_tensors()
source, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
_, height, width, _ = source["shape"]
if args.image:
    picture = np.load(args.image).astype(np.float32)
else:
    y, x = np.mgrid[-1:1:height * 1j, -1:1:width * 1j]
    picture = np.stack([x**2 + y**2 < 0.4, x > 0, np.ones_like(x) * 0.2], -1).astype(np.float32)
interpreter.set_tensor(source["index"], picture[None])
interpreter.invoke()
scores = interpreter.get_tensor(result["index"])[0]
classes = scores.argmax(-1)
rows, columns = (max(1, size // 24) for size in classes.shape)
for row in classes[::rows, ::columns]:
    print("".join(".abcdefghijklmnopqrstuvwxyz"[kind % 27] for kind in row))
for kind, count in enumerate(np.bincount(classes.reshape(-1), minlength=scores.shape[-1])):
    print(f"class {kind}: {count} of {classes.size} pixels")
