"""Small folders as `nnfast mlts` takes them: photos of digits, sequences of a recurrent net, and models for both."""

import json
from importlib import resources

import numpy as np
from PIL import Image

from helpers import litert_models

SIDE = 64
RNN_WEIGHTS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), np.eye(4, dtype=np.float32) / 2


def digits(count):
    """(images uint8 [count, 8, 8] with grey levels 0..16, labels) of the package."""
    with (resources.files("nnfast") / "data" / "digits.npz").open("rb") as file, np.load(file) as arrays:
        return arrays["images"][:count], arrays["labels"][:count]


def model(folder, name, kind="float32"):
    """A digits model of the package under another name."""
    source = resources.files("nnfast") / "data" / f"digits_{kind}.tflite"
    (folder / f"{name}.tflite").write_bytes(source.read_bytes())


def photos(folder, count=12):
    """`count` photos of digits with labels in words; returns the true classes."""
    images, labels = digits(count)
    words = [f"digit {number}" for number in range(10)]
    folder.mkdir(parents=True, exist_ok=True)
    for place, image in enumerate(images):
        Image.fromarray(np.minimum(image * 16, 255).astype(np.uint8)).resize((SIDE, SIDE), Image.Resampling.NEAREST) \
            .save(folder / f"digit-{place}.png")
    (folder / "labels.txt").write_text("\n".join(words) + "\n")
    (folder / "ground_truth_labels.txt").write_text("".join(f"{words[label]}\n" for label in labels))
    return labels


def rnn(inputs):
    """Outputs of the net of litert_models.stateful on inputs [steps, 2, 3], from zero state, in plain numpy."""
    weights, recurrent = RNN_WEIGHTS
    state, found = np.zeros((2, 4), np.float32), []
    for x in inputs:
        state = np.tanh(x @ weights.T + state @ recurrent.T)
        found.append(state)
    return np.array(found, np.float32)


def sequences(folder, name="asr_small", lengths=(3, 5), change=lambda values: values):
    """A recurrent model, and sequences for it with the outputs that it must have, changed by a function."""
    (folder / f"{name}.tflite").write_bytes(litert_models.stateful())
    place = folder / f"{name.split('_')[0]}_sequences"
    place.mkdir()
    for number, length in enumerate(lengths):
        x = np.random.default_rng(number).uniform(-1, 1, (length, 2, 3)).astype(np.float32)
        (place / f"s{number}.input").write_bytes(x.astype("<f4").tobytes())
        (place / f"s{number}.output").write_bytes(change(rnn(x)).astype("<f4").tobytes())
    return place


def listed(path, *rows, **changes):
    """Write a list of models; each row begins as an entry of a digits model with photos in `photos`."""
    whole = {"name": "digits", "inputSize": [1, 8, 8, 1], "dataSize": 4, "dataset": {
        "inputPath": "photos", "groundTruth": "photos/ground_truth_labels.txt", "labels": "photos/labels.txt"}}
    made = [{key: value for key, value in {**whole, **changes, **row}.items() if value is not None} for row in rows]
    path.write_text(json.dumps({"models": made}))
    return path
