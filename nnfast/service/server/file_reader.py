"""Files of TFLite from clients: imported here, with LiteRT's arithmetic, so that a client need not know how."""

from ...errors import InvalidArgument
from ...tflite.reader import ModelFile
from ...tflite.schema import IDENTIFIER
from ...tflite.shapes import wanted

KEPT_BYTES = 128
"""Memory per byte of a file beside its constants, for its records and the model: an upper bound, which files of nothing
but empty tables reach."""

_START = 4


def is_file(content):
    """Whether the bytes are a `.tflite` file."""
    return content[_START:_START + len(IDENTIFIER)].tobytes() == IDENTIFIER


def import_file(content, limit, hold, shapes):
    """(Model of the first subgraph, bytes of its objects); constants are views of the bytes.

    limit: most bytes beside the constants; hold(bytes): called before they are needed, may raise; shapes: of inputs, by
    name or position, or None. Raises InvalidArgument, UnsupportedOperator.
    """
    file = ModelFile(content.data, is_frozen=True)
    frame = content.nbytes - file.constant_bytes
    if frame > limit:
        raise InvalidArgument(f"model: the file has {frame} bytes beside its constants, must be at most {limit}")
    kept = KEPT_BYTES * frame
    hold(kept)
    main = next((s for s in file.signatures if s.graph == 0), None)
    return file.translate(shapes=wanted(file, 0, main, shapes))[0], kept


def bound(model, shapes):
    """Shapes of a model's inputs that were built for `shapes`, by position, as its operands have them; None for None.
    """
    if shapes is None:
        return None
    states = {state.input for state in model.states}
    return {place: model.main.operands[operand].dims for place, operand in enumerate(model.main.inputs)
            if place not in states}
