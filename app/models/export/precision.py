"""Makes of a network's graph the one that is released: its weights in it, optimised, and smaller where wanted."""

import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from app.errors import ExportError
from app.models.export.graph import WEIGHTS, Graph
from app.models.export.samples import Samples
from app.models.onnx_names import input_names
from app.models.spec import ModelSpec
from app.types import Arrays

if TYPE_CHECKING:
    from onnx import ModelProto

Precision = Literal["fp32", "fp16", "int8", "int8-dynamic"]
PRECISIONS: Final[tuple[Precision, ...]] = get_args(Precision)
CALIBRATION_ROWS: Final = 4096
"""Rows that ranges are taken from; each costs memory for all of the network's layers."""
BATCH_ROWS: Final = 64


def released(graph: Graph, arrays: Arrays, spec: ModelSpec, precision: Precision, recorded: Samples | None) -> bytes:
    """Returns a graph with its weights as constants, optimised and in the wanted precision.

    Args:
      graph: The network's.
      arrays: Its weights.
      spec: Its shapes; inputs and outputs keep their dtypes in every precision.
      precision: ``fp32`` is exact; ``fp16`` halves the weights; ``int8`` also computes with 8 bits, with ranges from
        recorded observations; ``int8-dynamic`` takes the ranges from each batch.
      recorded: Observations for ``int8``.

    Raises:
      ExportError: ``int8`` has no recorded observations, or the graph cannot be converted.
    """
    proto = _optimised(with_weights(graph, arrays))
    try:
        if precision == "fp32":
            return bytes(proto.SerializeToString())
        if precision == "fp16":
            return _half(proto)
        return _eight_bits(proto, spec, precision, recorded)
    except ExportError:
        raise
    except Exception as error:  # ONNX Runtime's converters raise what they like.
        raise ExportError(f"the graph cannot be written as {precision}: {type(error).__name__}: {error}") from error


def with_weights(graph: Graph, arrays: Arrays) -> "ModelProto":
    """Returns a graph that holds these weights."""
    import onnx  # noqa: PLC0415

    proto = onnx.load_model_from_string(graph.proto)
    for initializer in proto.graph.initializer:
        if initializer.data_location == onnx.TensorProto.EXTERNAL:
            array = arrays[initializer.name.removeprefix(WEIGHTS)]
            initializer.CopyFrom(onnx.numpy_helper.from_array(array, initializer.name))
    return proto


def _optimised(proto: "ModelProto") -> "ModelProto":
    from onnxscript import optimizer  # noqa: PLC0415  # Seconds of imports.

    return optimizer.optimize(proto)


def _half(proto: "ModelProto") -> bytes:
    from onnxruntime.transformers.float16 import convert_float_to_float16  # noqa: PLC0415

    return bytes(convert_float_to_float16(proto, keep_io_types=True).SerializeToString())


def _eight_bits(proto: "ModelProto", spec: ModelSpec, precision: Precision, recorded: Samples | None) -> bytes:
    from onnxruntime.quantization import QuantType, quantize_dynamic, quantize_static  # noqa: PLC0415
    from onnxruntime.quantization.shape_inference import quant_pre_process  # noqa: PLC0415

    logging.getLogger().addFilter(_is_no_advice)  # The package logs advice to the root logger.
    try:
        with tempfile.TemporaryDirectory() as name:
            exact, prepared, target = (
                str(Path(name) / file) for file in ("exact.onnx", "prepared.onnx", "target.onnx")
            )
            Path(exact).write_bytes(proto.SerializeToString())  # Of a graph in memory it writes the weights elsewhere.
            quant_pre_process(exact, prepared, skip_symbolic_shape=True)
            if precision == "int8-dynamic":
                quantize_dynamic(prepared, target, weight_type=QuantType.QInt8, per_channel=True)
            else:
                reader = _Reader(spec, _recorded(recorded))
                quantize_static(
                    prepared,
                    target,
                    reader,
                    per_channel=True,
                    activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8,
                    extra_options={"ActivationSymmetric": False},
                )
            return Path(target).read_bytes()
    finally:
        logging.getLogger().removeFilter(_is_no_advice)


def _recorded(samples: Samples | None) -> Samples:
    if samples is None:
        raise ExportError(
            "int8 takes the ranges of its numbers from recorded observations; give them: --calibration FILE"
        )
    return samples.head(CALIBRATION_ROWS)


class _Reader:
    """Deals recorded rows out to the calibration, in batches."""

    def __init__(self, spec: ModelSpec, samples: Samples) -> None:
        self._batches = _batches(input_names(spec), samples)

    def get_next(self) -> dict[str, Any] | None:
        """Returns the next batch by input; None at the end."""
        return next(self._batches, None)


def _batches(names: tuple[str, ...], samples: Samples) -> Iterator[dict[str, Any]]:
    leaves = (*samples.inputs, *samples.states)
    for start in range(0, samples.rows, BATCH_ROWS):
        yield {name: leaf[start : start + BATCH_ROWS] for name, leaf in zip(names, leaves, strict=True)}


def _is_no_advice(record: logging.LogRecord) -> bool:
    return not any(words in str(record.msg) for words in ("pre-processing", "out-of-range for weight"))
