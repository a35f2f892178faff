"""Classifies in LiteRT with nnfast as its delegate: python classify.py model.tflite image.npy labels.txt

Needs LiteRT (pip install ai-edge-litert). image.npy: an array of the shape and dtype of the model's input.
"""

import sys

import ai_edge_litert.interpreter as tflite
import numpy as np

import nnfast.litert


def main(model, image, labels):
    delegate = nnfast.litert.delegate(num_threads=2)
    interpreter = tflite.Interpreter(model, experimental_delegates=[delegate])
    interpreter.allocate_tensors()
    source, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    interpreter.set_tensor(source["index"], np.load(image).reshape(source["shape"]).astype(source["dtype"]))
    interpreter.invoke()
    scores = interpreter.get_tensor(result["index"]).reshape(-1)
    with open(labels) as file:
        names = file.read().splitlines()
    for place in np.argsort(scores)[::-1][:3]:
        print(f"{names[place] if place < len(names) else place}: {scores[place]}")


if __name__ == "__main__":
    main(*sys.argv[1:4])
