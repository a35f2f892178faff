"""Detect objects with an SSD whose file ends in TFLite_Detection_PostProcess: boxes, classes, scores, how many.

    python detect.py MODEL [--image F.npy] [--labels F] [--threshold T]

Boxes are shares of the picture. Without a picture: a bright square on ground that is darkest at the top.
"""

import argparse
from pathlib import Path

import numpy as np

import nnfast.litert as tflite

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("--image", help=".npy, bytes [height, width, 3] of the size that the model takes")
parser.add_argument("--labels", help="text file with a name for each class")
parser.add_argument("--threshold", type=float, default=0.5)
args = parser.parse_args()
labels = Path(args.labels).read_text().splitlines() if args.labels else []

interpreter = tflite.Interpreter(model_path=args.model, num_threads=2)
interpreter.allocate_tensors()
source = interpreter.get_input_details()[0]
_, height, width, _ = source["shape"]
if args.image:
    picture = np.load(args.image)
else:
    ramp = np.linspace(0, 90, height * width).astype(np.uint8)
    picture = np.repeat(ramp.reshape(height, width, 1), 3, axis=2)
    picture[height // 4:height // 2, width // 2:3 * width // 4] = 230
if source["dtype"] == np.float32:
    picture = (np.float32(picture) - 127.5) / 127.5
interpreter.set_tensor(source["index"], np.expand_dims(picture, 0))
interpreter.invoke()

boxes, classes, scores, count = (interpreter.get_tensor(row["index"]) for row in interpreter.get_output_details())
print(f"{int(count[0])} detections")
for box, kind, score in zip(boxes[0], classes[0].astype(int), scores[0]):
    if score >= args.threshold:
        name = labels[kind] if kind < len(labels) else f"class {kind}"
        print(f"{name} {score:.3f}: top {box[0]:.3f} left {box[1]:.3f} bottom {box[2]:.3f} right {box[3]:.3f}")
