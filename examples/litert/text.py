"""Classify sentences with a BERT-like network: token ids, mask and segments in, scores out.

    python text.py MODEL [--vocabulary F] [SENTENCE ...]

The model's inputs are found by name: ids, mask and segments, int32 [1, tokens].
"""

import argparse
from pathlib import Path

import numpy as np

import nnfast.litert as tflite

WORDS = "[PAD] [UNK] [CLS] [SEP] a the is was not very film music good bad fine dull loved hated and but".split()

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("sentences", nargs="*", default=["the film was very good", "the music is dull and bad",
                                                     "not a good film but fine music"])
parser.add_argument("--vocabulary", help="text file with a word on each line")
args = parser.parse_args()
words = Path(args.vocabulary).read_text().splitlines() if args.vocabulary else WORDS
numbers = {word: number for number, word in enumerate(words)}

interpreter = tflite.Interpreter(model_path=args.model)
interpreter.allocate_tensors()
places = {}
for row in interpreter.get_input_details():
    name = row["name"].lower()
    places["mask" if "mask" in name else "segments" if "segment" in name else "ids"] = row
length = places["ids"]["shape"][1]

for sentence in args.sentences:
    tokens = ["[CLS]", *sentence.lower().split()[:length - 2], "[SEP]"]
    ids = [numbers.get(token, numbers["[UNK]"]) for token in tokens]
    unused = length - len(ids)
    for name, values in (("ids", ids + [numbers["[PAD]"]] * unused), ("mask", [1] * len(ids) + [0] * unused),
                         ("segments", [0] * length)):
        interpreter.set_tensor(places[name]["index"], np.array([values], places[name]["dtype"]))
    interpreter.invoke()
    scores = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
    print(f"{sentence!r}: {len(tokens)} tokens, scores {' '.join(f'{score:.3f}' for score in scores)}")
