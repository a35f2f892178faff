"""LiteRT's Interpreter: a model file and its tensors, by their indexes in the file."""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING

import numpy as np

from ..checks import kind_of
from ..driver.device import Device
from ..tflite.reader import ModelFile
from .delegates import NO_DELEGATES, Delegate, OpResolverType, load_delegate
from .graph import Graph
from .signature import SignatureRunner
from .variables import Variables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .. import typed
    from ..model.types import Signature
    from .delegates import Delegate

__all__ = ["Delegate", "Interpreter", "OpResolverType", "SignatureRunner", "load_delegate"]


class Interpreter:
    """Runs a `.tflite` model through LiteRT's interface.

        interpreter = nnfast.Interpreter("model.tflite", num_threads=4)
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])

    model_path, model_content: the file, or its bytes; exactly one of them. num_threads: threads per run, by default 1
    as in LiteRT. experimental_op_resolver_type: an OpResolverType; results are those of BUILTIN_REF for each.
    experimental_preserve_all_tensors: get_tensor returns intermediate results too.
    experimental_compress_quantization_zero_points: report a single zero point if all are equal. The other experimental
    flags are for delegates, which nnfast does not have, and have no effect; experimental_delegates must be empty.
    Raises ValueError for a file that is unreadable or damaged, and for bad arguments.

    Use an interpreter from one thread at a time.
    """

    signatures: dict[str, Signature]

    def __init__(self, model_path: typed.FilePath | None = None, model_content: typed.Buffer | None = None,
                 experimental_delegates: Sequence[Delegate] | None = None, num_threads: int | None = None,
                 experimental_op_resolver_type: OpResolverType = OpResolverType.AUTO,
                 experimental_preserve_all_tensors: bool = False,
                 experimental_disable_delegate_clustering: bool = False,
                 experimental_default_delegate_latest_features: bool = False,
                 experimental_compress_quantization_zero_points: bool = False,
                 experimental_disable_delegate_node_fusion: bool = False,
                 experimental_force_delegate_node_profiling: bool = False) -> None:
        # Compare name and value: the program's OpResolverType may be from LiteRT's own module.
        kind = experimental_op_resolver_type
        if getattr(kind, "name", None) not in OpResolverType.__members__:
            raise ValueError(f"Unrecognized passed in op resolver type: {kind}")
        if num_threads is not None and not isinstance(num_threads, int):
            raise ValueError("type of num_threads should be int")
        if num_threads is not None and num_threads < 1:
            raise ValueError("num_threads should >= 1")
        if not model_path and not model_content:
            raise ValueError("`model_path` or `model_content` must be specified.")
        if model_path and model_content:
            raise ValueError("Can't both provide `model_path` and `model_content`")
        if model_content and not isinstance(model_content, bytes):
            raise TypeError(f"model_content is {kind_of(model_content)}, must be bytes")
        if experimental_delegates:
            raise ValueError(NO_DELEGATES)
        self._source = model_content or os.fspath(model_path)
        self._compress = experimental_compress_quantization_zero_points
        self._keep_all = bool(experimental_preserve_all_tensors)
        self._device = Device(num_threads=int(num_threads or 1))
        file = ModelFile(self._source)
        self.signatures = {s.key: s for s in file.signatures}
        self._count = file.count
        self._variables = Variables()
        self._graphs = {0: self._graph(0, file)}

    def _graph(self, index, file):
        return Graph(self._source, index, self._device, self._keep_all, file, self._variables)

    def subgraph(self, index: int) -> Any:
        """The Graph of a subgraph. Raises ValueError if there is none."""
        index = operator.index(index)
        if not 0 <= index < self._count:
            raise ValueError(f"Invalid subgraph index {index} exceeds max subgraph index {self._count}")
        if index not in self._graphs:
            self._graphs[index] = self._graph(index, ModelFile(self._source))
        return self._graphs[index]

    # -- tensors -----------------------------------------------------------------------------------------------------
    def _details(self, index):
        return self._graphs[0].tensor(index).details(self._compress)

    def get_input_details(self) -> list[dict[str, Any]]:
        """A list of dicts, one per input, in the order of the file.

        Keys: name, index (of the tensor in the file), shape, shape_signature (-1: unknown), dtype, quantization (scale,
        zero point), quantization_parameters (scales, zero_points, quantized_dimension, block_size) and
        sparsity_parameters.
        """
        return [self._details(index) for index in self._graphs[0].inputs]

    def get_output_details(self) -> list[dict[str, Any]]:
        """As get_input_details, for outputs; allocate_tensors computes their shapes from the inputs'."""
        return [self._details(index) for index in self._graphs[0].outputs]

    def get_tensor_details(self, subgraph_index: int = 0) -> list[dict[str, Any]]:
        """As get_input_details, for all tensors of a subgraph, by its index. Raises ValueError if there is none."""
        if not 0 <= subgraph_index < self._count:
            raise ValueError(f"subgraph_index is out of range: {subgraph_index} for the model, which has {self._count} "
                             "subgraphs.")
        return [tensor.details(self._compress) for tensor in self.subgraph(subgraph_index).tensors]

    def resize_tensor_input(self, input_index: int, tensor_size: Sequence[int] | typed.Array,
                            strict: bool = False) -> None:
        """Change the shape of an input; call allocate_tensors afterwards.

        input_index: the `index` of its details; tensor_size: the new dimensions. strict: only unknown dimensions (-1 in
        shape_signature) may change. Raises RuntimeError for an impossible shape.
        """
        self._graphs[0].check_no_views()
        self._graphs[0].resize(input_index, tensor_size, strict)

    def allocate_tensors(self) -> None:
        """Compile the model for the shapes of its inputs, and reset its variables. No effect if that is done already.

        Raises RuntimeError, which lists all unsupported operators with their reasons.
        """
        self._graphs[0].check_no_views()
        self._graphs[0].allocate()

    def set_tensor(self, tensor_index: int, value: Any) -> None:
        """Copy an array (value) into a tensor. Raises ValueError unless it has the tensor's dtype and shape.

        tensor_index: the `index` of its details.
        """
        self._graphs[0].set(tensor_index, value)

    def get_tensor(self, tensor_index: int, subgraph_index: int = 0) -> typed.Array:
        """A copy of the value of an input, output, constant or variable. Other tensors need
        experimental_preserve_all_tensors; without it they raise ValueError.

        tensor_index: the `index` of its details, subgraph_index: the subgraph whose tensor it is.
        """
        return self.subgraph(subgraph_index).get(tensor_index)

    def tensor(self, tensor_index: int) -> Callable[[], typed.Array]:
        """A function that returns an array over the memory of a tensor.

        While such an array or a slice of it exists, invoke, allocate_tensors and resize_tensor_input raise
        RuntimeError: keep the function, not the array.
        """
        return lambda: self._graphs[0].view(tensor_index)

    # -- running -----------------------------------------------------------------------------------------------------
    def invoke(self) -> None:
        """Run the model. Raises RuntimeError if allocate_tensors was not called, or if the run fails."""
        self._graphs[0].check_no_views()
        self._graphs[0].invoke()

    def reset_all_variables(self) -> None:
        """Set variable tensors to their initial values."""
        for graph in self._graphs.values():
            graph.reset()

    # -- signatures --------------------------------------------------------------------------------------------------
    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """{signature key: {"inputs": [names], "outputs": [names]}}."""
        return {key: {"inputs": sorted(s.inputs), "outputs": sorted(s.outputs)} for key, s in self.signatures.items()}

    def get_signature_runner(self, signature_key: str | None = None) -> SignatureRunner:
        """A SignatureRunner for a key; None: the only signature of the model. Raises ValueError."""
        if signature_key is None:
            if len(self.signatures) != 1:
                raise ValueError(f"SignatureDef signature_key is None and model has {len(self.signatures)} Signatures."
                                 " None is only allowed when the model has 1 SignatureDef")
            signature_key, = self.signatures
        return SignatureRunner(self, signature_key)

    # -- more about the file -----------------------------------------------------------------------------------------
    def num_subgraphs(self) -> int:
        """Number of subgraphs of the file."""
        return self._count

    def _get_ops_details(self):
        """A dict per operator of the first subgraph, as LiteRT's debugging tools expect: index, op_name, inputs,
        outputs (tensor indexes), operand_types, result_types.
        """
        graph, rows = self._graphs[0], []
        for index, (name, inputs, outputs) in enumerate(graph.operators):
            kinds = [[graph.tensors[k].dtype for k in side if k != -1] for side in (inputs, outputs)]
            rows.append({"index": index, "op_name": name, "inputs": np.array(inputs, np.int32),
                         "outputs": np.array(outputs, np.int32), "operand_types": kinds[0], "result_types": kinds[1]})
        return rows

    @property
    def experimental_compress_quantization_zero_points(self) -> bool:
        """Whether details report a single zero point where all are equal."""
        return self._compress
