"""Signatures of a prepared model: functions with named arguments and results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..checks import shown
from ..errors import InvalidArgument

if TYPE_CHECKING:
    from typing import Any

    from .. import typed
    from .stream import Stream
    from .tensors import TensorInfo


class SignatureRunner:
    """A signature as a function: runner(x=array, y=array) returns {output name: array}, as PreparedModel.run.

    Made by PreparedModel.signature. key: its name; inputs, outputs: {name: TensorInfo}.
    """

    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo]
    key: str

    def __init__(self, prepared: typed.Prepared, signature: Any, stream: Stream | None = None) -> None:
        self._prepared, self.key, self._places = prepared, signature.key, (signature.inputs, signature.outputs)
        self._run = (prepared if stream is None else stream).run
        self.inputs = {name: prepared.inputs[place] for name, place in signature.inputs}
        self.outputs = {name: prepared.outputs[place] for name, place in signature.outputs}

    def __call__(self, /, **inputs: typed.Tensor) -> dict[str, typed.Array]:
        """Run on an array for each input. Raises InvalidArgument for a wrong name, dtype or shape."""
        for name in inputs:
            if name not in self.inputs:
                raise InvalidArgument(f"signature {self.key!r} input {shown(name)}: no such input; there are "
                                      f"{', '.join(map(repr, self.inputs))}")
        given = [None] * len(self._prepared.inputs)
        for name, place in self._places[0]:
            if name not in inputs:
                raise InvalidArgument(f"signature {self.key!r} input {name!r}: is missing")
            given[place] = inputs[name]
        results = self._run(given)
        return {name: results[place] for name, place in self._places[1]}

    def __repr__(self) -> str:
        return f"<SignatureRunner {self.key}: {', '.join(self.inputs)} -> {', '.join(self.outputs)}>"


def signature_of(prepared, key, stream=None):
    """SignatureRunner for a key, on a stream or not; None: the only signature. Raises InvalidArgument."""
    if stream is not None and not callable(getattr(stream, "run", None)):
        raise InvalidArgument(f"signature: stream is {shown(stream)}, must be one that prepared.stream() has made")
    signatures = {} if prepared.model is None else {s.key: s for s in prepared.model.signatures}
    names = ", ".join(map(shown, signatures)) or "none"
    if key is None:
        if len(signatures) != 1:
            raise InvalidArgument(f"signature: the model has {len(signatures)} ({names}); give the name of one")
        key, = signatures
    signature = signatures.get(key) if isinstance(key, str) else None
    if signature is None:
        raise InvalidArgument(f"signature {shown(key)}: the model has {names}")
    if not signature.is_loaded:
        raise InvalidArgument(f"signature {key!r}: is about another subgraph of the file; "
                              f"nnfast.load(path, signature={key!r}) loads that")
    for infos, entries in ((prepared.inputs, signature.inputs), (prepared.outputs, signature.outputs)):
        for name, place in entries:
            if not 0 <= place < len(infos):
                raise InvalidArgument(f"signature {key!r}: {shown(name)} has position {place}, must be in [0, "
                                      f"{len(infos)})")
    return SignatureRunner(prepared, signature, stream)
