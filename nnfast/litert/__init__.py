"""LiteRT's Python interface on nnfast: `import nnfast.litert as tflite` is all that a program has to change.

    interpreter = tflite.Interpreter("model.tflite")
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])

Names, arguments, results and exception types are those of `ai_edge_litert.interpreter`, `tflite_runtime.interpreter`
and `tf.lite`. docs/litert.md says where nnfast does more, and what it has no counterpart of.
"""

from types import SimpleNamespace

from .delegates import Delegate, OpResolverType, delegate, load_delegate
from .interpreter import Interpreter
from .signature import SignatureRunner

experimental: SimpleNamespace = SimpleNamespace(OpResolverType=OpResolverType, load_delegate=load_delegate)
"""As `tf.lite.experimental`."""

__all__ = ["Delegate", "Interpreter", "OpResolverType", "SignatureRunner", "delegate", "experimental", "load_delegate"]
