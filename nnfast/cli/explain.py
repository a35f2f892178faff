"""`nnfast explain`: each operation of a model, the kernel that runs it or why none does, and the memory."""

import json

from ..model.types import CONSTANT_LIFETIMES
from .output import Output, add_device_arguments, device_of, waiting


def add_arguments(parser):
    parser.add_argument("model", metavar="MODEL", help="model file (.tflite)")
    add_device_arguments(parser)
    Output.add_argument(parser)


def main(args):
    import nnfast

    output = Output(args.json)
    with waiting("prepare"):
        model = nnfast.load(args.model, args.relaxed)
        explanation = device_of(args).prepare(model).explain()
    weights = weight_bytes(model)
    output.say(str(explanation))
    output.say(f"weights {weights:,} B in the model")
    output.finish({**json.loads(explanation.to_json()), "weight_bytes": weights})
    return 0


def weight_bytes(model):
    """Bytes of all constants of a model."""
    return sum(operand.data.nbytes for graph in (model.main, *model.referenced) for operand in graph.operands
               if operand.lifetime in CONSTANT_LIFETIMES)
