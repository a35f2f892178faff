"""Listen for a keyword: a network with variables takes one frame of features after another.

    python keyword_stream.py MODEL [--features F.npy] [--threshold T]

The variables carry what the network remembers from call to call; reset_all_variables begins anew with every recording.
Without features: two recordings of a seeded generator, the second like the first.
"""

import argparse

import numpy as np

import nnfast.litert as tflite

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("--features", help=".npy [recordings, frames, values of a frame]")
parser.add_argument("--threshold", type=float, default=0.6)
args = parser.parse_args()

interpreter = tflite.Interpreter(model_path=args.model)
interpreter.allocate_tensors()
source, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
if args.features:
    recordings = np.load(args.features)
else:
    frames = np.random.default_rng(3).normal(size=(12, *source["shape"][1:])).astype(np.float32)
    recordings = np.stack([frames, frames])

feed, scores = interpreter.tensor(source["index"]), interpreter.tensor(result["index"])
for number, recording in enumerate(recordings):
    interpreter.reset_all_variables()
    smooth, heard = 0.0, []
    for place, frame in enumerate(recording):
        feed()[...] = frame
        interpreter.invoke()
        smooth = 0.5 * smooth + 0.5 * float(scores()[0, -1])
        if smooth > args.threshold:
            heard.append(place)
    print(f"recording {number}: {len(recording)} frames, last score {smooth:.3f}, keyword at frames {heard}")
