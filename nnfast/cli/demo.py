"""`nnfast demo`: classify handwritten digits with the shipped float32 and int8 models and draw the answers."""

import platform
import time
from dataclasses import dataclass
from importlib import resources

import numpy as np

from ..errors import MissingPackage
from ..extras import needed
from .output import Output, check_target, positive, table, waiting

MODELS = {"float32": "digits_float32.tflite", "int8": "digits_int8.tflite"}
GREY_LEVELS = 16
COLUMNS, ROWS = 12, 5
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """What one model said of all pictures: probabilities [n, 10], seconds per picture, right labels."""

    name: str
    probabilities: np.ndarray
    seconds: float
    labels: np.ndarray

    @property
    def predicted(self):
        return self.probabilities.argmax(1)

    @property
    def right(self):
        """Number of pictures classified correctly."""
        return int((self.predicted == self.labels).sum())

    @property
    def accuracy(self):
        return self.right / len(self.labels)

    def summary(self):
        """The figures as plain values for JSON."""
        return {"accuracy": self.accuracy, "right": self.right, "pictures": len(self.labels),
                "median_us": self.seconds * 1e6, "runs_per_second": 1 / self.seconds}


def add_arguments(parser):
    parser.add_argument("--output", default="nnfast_demo.png", metavar="F.png",
                        help="picture to write where Pillow is installed (default: nnfast_demo.png in this folder)")
    parser.add_argument("--threads", type=positive, metavar="N", help="threads (default: see nnfast info)")
    Output.add_argument(parser)


def main(args):
    from .._native import kernels, threads

    output = Output(args.json)
    check_target(args.output)
    count = args.threads or threads.default_threads()
    images, labels = held_out_digits()
    with waiting("classify"):
        answers = [classify(name, file, images, labels, count) for name, file in MODELS.items()]
    machine = f"{platform.machine()} {kernels.level()}, {count} thread{'s' if count > 1 else ''}"
    output.say(f"{len(labels)} handwritten digits that the models never saw, one at a time on {machine}")
    output.say()
    output.say(table(["model", "right", "accuracy", "us per picture", "pictures per second"], [
        [answer.name, answer.right, f"{answer.accuracy:.1%}", round(answer.seconds * 1e6, 1), round(1 / answer.seconds)]
        for answer in answers]))
    try:
        draw(images, labels, answers, machine).save(args.output, "PNG")
        picture, said = args.output, f"answers drawn to {args.output}"
    except MissingPackage as error:
        picture, said = None, f"no picture drawn; {error}"
    output.say()
    output.say(said)
    output.finish({"cpu_level": kernels.level(), "threads": count, "picture": picture,
                   "models": {answer.name: answer.summary() for answer in answers}})
    return 0


def data_file(name):
    """A file of nnfast/data, wherever the package was installed."""
    return resources.files("nnfast") / "data" / name


def held_out_digits():
    """(images uint8 [n, 8, 8] with grey levels 0..16, labels uint8 [n]) from the package."""
    with data_file("digits.npz").open("rb") as file, np.load(file) as arrays:
        return arrays["images"], arrays["labels"]


def classify(name, file, images, labels, threads):
    """Answer of one shipped model; the time is the median over all pictures, in the best of a few rounds."""
    import nnfast

    with resources.as_file(data_file(file)) as path:
        prepared = nnfast.Device(num_threads=threads).prepare(nnfast.load(path))
        inputs = quantized(images[..., None].astype(np.float32) / GREY_LEVELS, prepared.inputs[0])
        outputs, medians = [], []
        for _ in range(ROUNDS):
            outputs, seconds = [], []
            for start in range(len(inputs)):
                x = inputs[start:start + 1]
                began = time.perf_counter()
                result = prepared.run([x])
                seconds.append(time.perf_counter() - began)
                outputs.append(result[0])
            medians.append(float(np.median(seconds)))
        probabilities = real(np.concatenate(outputs), prepared.outputs[0])
    return Answer(name, probabilities, min(medians), labels)


def quantized(x, spec):
    """Real values as the dtype, scale and zero point of an input want them."""
    if spec.dtype == np.float32:
        return x
    limits = np.iinfo(spec.dtype)
    return np.clip(np.round(x / spec.scale) + spec.zero_point, limits.min, limits.max).astype(spec.dtype)


def real(values, spec):
    """Real values of an output."""
    if spec.dtype == np.float32:
        return values
    return (values.astype(np.float32) - spec.zero_point) * np.float32(spec.scale)


# -- the picture ------------------------------------------------------------------------------------------------------
INK, FAINT, PAPER, CARD = (31, 36, 44), (110, 118, 129), (255, 255, 255), (246, 248, 250)
GREEN, RED = (26, 127, 55), (207, 34, 46)
DIGIT, PAD, GAP, LINE, MARGIN, HEADER = 72, 8, 10, 19, 28, 140
CELL_WIDTH, CELL_HEIGHT = DIGIT + 2 * PAD + 12, DIGIT + 2 * LINE + 3 * PAD


def picture_size():
    """(width, height) of the PNG in pixels."""
    return (2 * MARGIN + COLUMNS * CELL_WIDTH + (COLUMNS - 1) * GAP,
            HEADER + ROWS * CELL_HEIGHT + (ROWS - 1) * GAP + MARGIN)


def chosen(labels, answers):
    """Pictures to draw: every one that some model got wrong (as far as there is room), then the first ones."""
    wrong = np.zeros(len(labels), bool)
    for answer in answers:
        wrong |= answer.predicted != labels
    return np.argsort(~wrong, kind="stable")[:COLUMNS * ROWS], int(wrong.sum())


def draw(images, labels, answers, machine):
    """PIL picture: header with the figures, then a grid of digits with each model's answer below."""
    picture = needed("PIL.Image").new("RGB", picture_size(), PAPER)
    canvas = needed("PIL.ImageDraw").Draw(picture)
    places, wrong = chosen(labels, answers)
    draw_header(canvas, answers, machine, len(labels), wrong)
    for cell, place in enumerate(places):
        row, column = divmod(cell, COLUMNS)
        corner = MARGIN + column * (CELL_WIDTH + GAP), HEADER + row * (CELL_HEIGHT + GAP)
        draw_cell(picture, canvas, corner, images[place], int(labels[place]),
                  [(answer.name, answer.probabilities[place]) for answer in answers])
    return picture


def font(size):
    from PIL import ImageFont

    return ImageFont.load_default(size)


def draw_header(canvas, answers, machine, count, wrong):
    canvas.text((MARGIN, 20), "nnfast demo: handwritten digits", INK, font(26))
    canvas.text((picture_size()[0] - MARGIN, 28), machine, FAINT, font(16), anchor="ra")
    for line, answer in enumerate(answers):
        y = 60 + 22 * line
        canvas.text((MARGIN, y), answer.name, INK, font(16))
        canvas.text((MARGIN + 80, y), f"{answer.right} of {count} right ({answer.accuracy:.1%})", INK, font(16))
        speed = f"{answer.seconds * 1e6:.1f} us per picture, {1 / answer.seconds:,.0f} per second"
        canvas.text((MARGIN + 290, y), speed, INK, font(16))
    room = COLUMNS * ROWS
    shown = f"{room} of {wrong}" if wrong > room else f"all {wrong}"
    note = f"First the pictures that a model got wrong ({shown}), then others of the {count}. " if wrong else ""
    note += "Below each: prediction and confidence; in the corner of a wrong one: what it is."
    canvas.text((MARGIN, 110), note, FAINT, font(14))


def draw_cell(picture, canvas, corner, image, label, said):
    """One digit, enlarged, with a line per model: name, prediction, confidence; green when right, red when wrong."""
    from PIL import Image

    x, y = corner
    box = (x, y, x + CELL_WIDTH - 1, y + CELL_HEIGHT - 1)
    fine = all(int(probability.argmax()) == label for _, probability in said)
    canvas.rounded_rectangle(box, 6, CARD, CARD if fine else RED, 1 if fine else 2)
    grey = 255 - (image.astype(np.uint16) * 255 // GREY_LEVELS).astype(np.uint8)
    picture.paste(Image.fromarray(grey).resize((DIGIT, DIGIT), Image.Resampling.BICUBIC),
                  (x + (CELL_WIDTH - DIGIT) // 2, y + PAD))
    if not fine:
        canvas.text((x + CELL_WIDTH - 5, y + 3), str(label), INK, font(15), anchor="ra")
    for line, (name, probability) in enumerate(said):
        best = int(probability.argmax())
        top = y + DIGIT + 2 * PAD + LINE * line
        canvas.text((x + PAD, top + 3), name, FAINT, font(11))
        color = GREEN if best == label else RED
        canvas.text((x + 52, top), str(best), color, font(16))
        canvas.text((x + CELL_WIDTH - 5, top + 3), f"{probability[best]:.0%}", color, font(11), anchor="ra")
