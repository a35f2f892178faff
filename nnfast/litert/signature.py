"""Signatures of a model as functions with named arguments and results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..checks import shown

if TYPE_CHECKING:
    from typing import Any

    from .. import typed


class SignatureRunner:
    """A signature as a function: runner(x=array, y=array) returns {output name: array}.

    Made by Interpreter.get_signature_runner. A call resizes the inputs to the shapes of the arrays, as LiteRT does, and
    shares the tensors of the signature's subgraph with the interpreter.
    """

    def __init__(self, interpreter: Any = None, signature_key: str | None = None) -> None:
        if not interpreter:
            raise ValueError("None interpreter provided.")
        if not signature_key:
            raise ValueError("None signature_key provided.")
        signature = interpreter.signatures.get(signature_key)
        if signature is None:
            raise ValueError(f"Invalid signature_key provided: {shown(signature_key)}; the model has "
                             f"{', '.join(map(shown, interpreter.signatures)) or 'none'}")
        self._interpreter, self._signature = interpreter, signature
        self._graph = interpreter.subgraph(signature.graph)

    def __call__(self, **inputs: Any) -> dict[str, typed.Array]:
        """Run on arrays by name. Raises ValueError for a wrong name, number, dtype or rank, RuntimeError for shapes
        that the model cannot run on.
        """
        places, graph = self._signature.inputs, self._graph
        if len(inputs) != len(places):
            raise ValueError(f"Invalid number of inputs provided for running a SignatureDef, expected {len(places)} vs "
                             f"provided {len(inputs)}")
        for name, value in inputs.items():
            if name not in places:
                raise ValueError(f"Invalid Input name ({name}) for SignatureDef; its inputs are {', '.join(places)}")
            graph.resize(places[name], value.shape, False)
        graph.allocate()
        for name, value in inputs.items():
            graph.set(places[name], value)
        graph.invoke()
        return {name: graph.get(index) for name, index in sorted(self._signature.outputs.items())}

    def get_input_details(self) -> dict[str, dict[str, Any]]:
        """{input name: details}, as Interpreter.get_input_details."""
        return self._details(self._signature.inputs)

    def get_output_details(self) -> dict[str, dict[str, Any]]:
        """{output name: details}, as Interpreter.get_output_details."""
        return self._details(self._signature.outputs)

    def _details(self, places):
        compress = self._interpreter.experimental_compress_quantization_zero_points
        return {name: self._graph.tensor(index).details(compress) for name, index in sorted(places.items())}
