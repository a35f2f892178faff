"""Files of TFLite from clients: imported here, with LiteRT's arithmetic, so that a client need not know how."""

from ...errors import InvalidArgument
from ...tflite.reader import ModelFile
from ...tflite.schema import IDENTIFIER
from ...tflite.shapes import wanted
from ...tflite.verify import MAX_TABLES

KEPT_BYTES = 128
"""Memory per byte of a file beside its constants, for its records and the model: an upper bound, which files of nothing
but empty tables reach."""
TABLE_BYTES = 1024
"""Memory of a table while the file is read: an upper bound, as there."""

_START, _LEAST_TABLE = 4, 4


def is_file(content):
    """Whether the bytes are a `.tflite` file."""
    return content[_START:_START + len(IDENTIFIER)].tobytes() == IDENTIFIER


def import_file(content, limit, hold, shapes):
    """(Model of the first subgraph, bytes of its objects, their Charges); constants are views of the bytes.

    limit: most bytes beside the constants; hold(bytes): Charges for memory, made before it is needed, may raise;
    shapes: of inputs, by name or position, or None. Raises InvalidArgument, UnsupportedOperator.
    """
    reading = hold(TABLE_BYTES * min(MAX_TABLES, content.nbytes // _LEAST_TABLE))
    file = ModelFile(content.data, is_frozen=True)
    frame = content.nbytes - file.constant_bytes
    if frame > limit:
        raise InvalidArgument(f"model: the file has {frame} bytes beside its constants, must be at most {limit}")
    nbytes = KEPT_BYTES * frame
    kept = hold(nbytes)
    main = next((s for s in file.signatures if s.graph == 0), None)
    model = file.translate(shapes=wanted(file, 0, main, shapes))[0]
    del reading
    return model, nbytes, kept


def bound(model, shapes):
    """Shapes of a model's inputs that were built for `shapes`, by position, as its operands have them; None for None.
    """
    if shapes is None:
        return None
    states = {state.input for state in model.states}
    return {place: model.main.operands[operand].dims for place, operand in enumerate(model.main.inputs)
            if place not in states}
