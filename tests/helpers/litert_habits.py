"""Uses and misuses of an Interpreter, one line for each with what came of it: the same lines by both modules.

python litert_habits.py MODULE FOLDER: the module that has Interpreter; the folder that litert_models.write filled.
"""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np

KINDS = ValueError, RuntimeError, TypeError, AttributeError
"""What an exception counts as: the first of these that it is."""


def told(value):
    """A result as text that does not depend on the module."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)} {value.tolist()}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {told(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(told, value)) + "]"
    if callable(value):
        return getattr(value, "__name__", "object").removeprefix("<").removesuffix(">")
    return str(value) if isinstance(value, int | float | str | type(None)) else type(value).__name__


class Report:
    """Lines "what: what came of it"."""

    def __init__(self):
        self.lines = []

    def says(self, label, call):
        """Note what comes of a call."""
        try:
            result = told(call())
        except Exception as error:
            result = next((kind.__name__ for kind in KINDS if isinstance(error, kind)), type(error).__name__)
        self.lines.append(f"{label}: {result}")


def habits(litert, folder):
    """The lines of all uses below."""
    report, make = Report(), litert.Interpreter
    making(report.says, litert, folder)
    one = make(folder / "digits.tflite", num_threads=2)
    tensors(report.says, one)
    views(report.says, one)
    resizing(report.says, one)
    signatures(report.says, make(str(folder / "two.tflite")))
    variables(report.says, make(model_content=(folder / "state.tflite").read_bytes()))
    return report.lines


def making(says, litert, folder):
    """Interpreters of good and bad files and arguments."""
    make, digits = litert.Interpreter, str(folder / "digits.tflite")
    (folder / "bad.tflite").write_bytes(b"not a model, but long enough to be one")

    says("no model", make)
    says("two models", lambda: make(model_path=digits, model_content=b"x"))
    says("no such file", lambda: make(str(folder / "missing.tflite")))
    says("a folder", lambda: make(str(folder)))
    says("not a model", lambda: make(str(folder / "bad.tflite")))
    says("not the bytes of a model", lambda: make(model_content=b"x" * 40))
    says("path is a number", lambda: make(5))
    says("content is text", lambda: make(model_content="text"))
    says("content is a bytearray", lambda: make(model_content=bytearray(Path(digits).read_bytes())))
    says("no threads", lambda: make(digits, num_threads=0))
    says("threads as text", lambda: make(digits, num_threads="2"))
    says("unknown resolver", lambda: make(digits, experimental_op_resolver_type=7))
    for kind in litert.OpResolverType:
        says(f"resolver {kind.name}", lambda kind=kind: make(digits, experimental_op_resolver_type=kind))


X = np.arange(64, dtype=np.int8).reshape(1, 8, 8, 1)


def ends(one):
    """Tensor indexes of the first input and output."""
    return one.get_input_details()[0]["index"], one.get_output_details()[0]["index"]


def tensors(says, one):
    """Values set and got, before and behind allocate_tensors and invoke."""
    says("invoke before allocate", one.invoke)
    says("get before allocate", lambda: one.get_tensor(0))
    says("view before allocate", lambda: one.tensor(0)())
    says("reset before allocate", one.reset_all_variables)
    says("set before allocate", lambda: one.set_tensor(0, np.zeros((1, 8, 8, 1), np.int8)))
    says("no signatures", one.get_signature_list)
    says("the only signature of none", one.get_signature_runner)
    says("allocate", one.allocate_tensors)
    says("inputs", one.get_input_details)
    says("outputs", one.get_output_details)
    source, result = ends(one)
    for label, value in (
            ("list", X.tolist()), ("float", X.astype(np.float32)), ("rank", X[0]), ("batch", np.concatenate([X, X])),
            ("number", 3), ("None", None), ("text", "text"), ("Fortran", np.asfortranarray(X)),
            ("strided", np.repeat(X, 2, 1)[:, ::2])):
        says(f"set {label}", lambda value=value: one.set_tensor(source, value))
    for index in (-1, 9999, 1.0, "image", np.int32(source)):
        says(f"set at {index!s}", lambda index=index: one.set_tensor(index, X))
        says(f"get at {index!s}", lambda index=index: one.get_tensor(index).shape)
    says("get of another subgraph", lambda: one.get_tensor(0, 1))
    says("details of another subgraph", lambda: one.get_tensor_details(1))
    says("subgraphs", one.num_subgraphs)
    says("invoke", one.invoke)
    says("result", lambda: one.get_tensor(result))
    says("constant", lambda: one.get_tensor(2).shape)
    says("names", lambda: [d["name"] for d in one.get_tensor_details()[:21]])


def facts(array):
    """What an array says of its memory."""
    return [array.shape, array.dtype.name, array.flags.writeable, array.flags.owndata]


def views(says, one):
    """Arrays over the interpreter's memory."""
    source, _ = ends(one)
    says("view", lambda: facts(one.tensor(source)()))
    view = one.tensor(source)()
    view[...] = 7
    says("set beside a view", lambda: one.set_tensor(source, X))
    says("view of what was set", lambda: one.tensor(source)().tolist() == X.tolist())
    for label, call in (("invoke", one.invoke), ("allocate", one.allocate_tensors),
                        ("resize", lambda: one.resize_tensor_input(source, [1, 8, 8, 1]))):
        says(f"{label} beside a view", call)
    part = view[0, 1:]
    del view
    says("invoke beside a slice", one.invoke)
    del part
    says("invoke when they are gone", one.invoke)
    says("function of a bad index", lambda: one.tensor(9999))
    says("view of a bad index", lambda: one.tensor(9999)())


def resizing(says, one):
    """Other shapes of the input."""
    source, result = ends(one)
    for label, index, size, strict in (
            ("strictly", source, [2, 8, 8, 1], True), ("strictly to the same", source, [1, 8, 8, 1], True),
            ("a bad index", 999, [1, 8, 8, 1], False), ("a constant", 1, [3], False),
            ("to less than nothing", source, [-1, 8, 8, 1], False), ("to text", source, "ab", False),
            ("to None", source, None, False), ("to a table", source, [[2, 2]], False),
            ("to floats", source, [1.5, 8, 8, 1], False), ("to three", source, [3, 8, 8, 1], False)):
        says(f"resize {label}", lambda index=index, size=size, strict=strict: one.resize_tensor_input(
            index, size, strict=strict))
    says("shape behind resize", lambda: one.get_input_details()[0]["shape"])
    says("invoke behind resize", one.invoke)
    says("get behind resize", lambda: one.get_tensor(source))
    says("set behind resize", lambda: one.set_tensor(source, np.zeros((3, 8, 8, 1), np.int8)))
    says("allocate behind resize", one.allocate_tensors)
    says("shapes behind allocate", lambda: [one.get_output_details()[0][key] for key in ("shape", "shape_signature")])
    one.set_tensor(source, np.concatenate([X, X - 9, X]))
    says("invoke three", one.invoke)
    says("result of three", lambda: one.get_tensor(result))
    says("resize back", lambda: one.resize_tensor_input(source, [1, 8, 8, 1]))
    says("allocate again", one.allocate_tensors)
    says("resize to what it is", lambda: one.resize_tensor_input(source, [1, 8, 8, 1]))
    says("invoke without another allocate", one.invoke)


def signatures(says, pair):
    """Functions of a file with two signatures."""
    says("signatures", pair.get_signature_list)
    says("one of two signatures", pair.get_signature_runner)
    says("unknown signature", lambda: pair.get_signature_runner("third"))
    says("number of a signature", lambda: pair.get_signature_runner(5))
    a, b = np.array([1, 2], np.float32), np.array([3, 5], np.float32)
    for key in ("add", "multiply"):
        runner = pair.get_signature_runner(key)
        says(f"{key} inputs", runner.get_input_details)
        says(f"{key} outputs", runner.get_output_details)
        says(f"{key}", lambda runner=runner: runner(x=a, y=b))
        says(f"{key} of more", lambda runner=runner: runner(y=np.arange(3.0, dtype=np.float32),
                                                           x=np.ones(3, np.float32)))
        says(f"{key} by position", lambda runner=runner: runner(a, b))
        says(f"{key} of one", lambda runner=runner: runner(x=a))
        says(f"{key} of a wrong name", lambda runner=runner: runner(x=a, z=b))
        says(f"{key} of lists", lambda runner=runner: runner(x=[1.0], y=[2.0]))
        says(f"{key} of doubles", lambda runner=runner: runner(x=a.astype(float), y=b))
    says("shapes of the first signature", lambda: pair.get_input_details()[0]["shape"])
    says("tensors of the second", lambda: len(pair.get_tensor_details(1)))


def variables(says, loop):
    """State that goes from call to call."""
    says("allocate a loop", loop.allocate_tensors)
    variable = next(d["index"] for d in loop.get_tensor_details() if d["name"] == "h")
    source, result = ends(loop)
    says("state at first", lambda: loop.get_tensor(variable))
    for call in range(3):
        loop.set_tensor(source, np.full((2, 3), call + 1, np.float32))
        loop.invoke()
        says(f"call {call}", lambda: [loop.get_tensor(result).round(3), loop.get_tensor(variable).round(3)])
    says("allocate between", loop.allocate_tensors)
    says("state is kept", lambda: loop.get_tensor(variable).round(3))
    says("reset", loop.reset_all_variables)
    says("state is gone", lambda: loop.get_tensor(variable))
    says("set a state", lambda: loop.set_tensor(variable, np.full((2, 4), 0.5, np.float32)))
    loop.invoke()
    says("result of a set state", lambda: loop.get_tensor(result).round(3))
    loop.tensor(variable)().fill(0.25)
    loop.invoke()
    says("result of a state through its view", lambda: loop.get_tensor(result).round(3))


if __name__ == "__main__":
    print("\n".join(habits(import_module(sys.argv[1]), Path(sys.argv[2]))))
