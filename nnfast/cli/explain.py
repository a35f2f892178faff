"""`nnfast explain`: each operation of a model, the kernel that runs it or why none does, and the memory."""

from .output import Output, positive


def add_arguments(parser):
    parser.add_argument("model", metavar="MODEL", help="model file (.tflite)")
    parser.add_argument("--threads", type=positive, metavar="N", help="threads (default: see nnfast info)")
    Output.add_argument(parser)


def main(args):
    import nnfast

    output = Output(args.json)
    device = nnfast.Device(num_threads=args.threads)
    explanation = device.prepare(nnfast.load(args.model)).explain()
    output.say(str(explanation))
    output.finish(explanation.to_json())
    return 0
