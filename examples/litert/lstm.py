"""Run an LSTM over sequences: the class of each, or the next value of a series.

    python lstm.py MODEL [--count N]

MODEL: float [1, steps, values] -> [1, outputs]. The sequences are waves of rising frequency.
"""

import argparse

import numpy as np

import nnfast.litert as tflite

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("--count", type=int, default=4)
args = parser.parse_args()

interpreter = tflite.Interpreter(model_path=args.model)
interpreter.allocate_tensors()
source, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
_, steps, values = source["shape"]
time, phase = np.arange(steps)[:, None] / steps, np.arange(values)[None, :] / values
for frequency in range(1, args.count + 1):
    # A wave that starts anew must not remember the one before it.
    interpreter.reset_all_variables()
    wave = np.sin(2 * np.pi * (frequency * time + phase)).astype(np.float32)
    interpreter.set_tensor(source["index"], wave[None])
    interpreter.invoke()
    output = interpreter.get_tensor(result["index"]).reshape(-1)
    print(f"frequency {frequency}: best {output.argmax()} of {output.size}, {output.max():.3f}, sum {output.sum():.3f}")
