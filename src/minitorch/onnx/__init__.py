"""Models as ONNX files: ``export``.

The files are made and checked by the package ``onnx`` (``pip install minitorch[onnx]``), which is imported when it is first
needed; whatever runs ONNX, such as ``onnxruntime``, runs them.
"""

from . import errors
from ._arguments import OPSETS
from ._export import ONNXProgram, TrainingMode, export, is_in_onnx_export
from ._parts import kinds_of_rows
from .errors import OnnxExporterError

__all__ = [
    "OPSETS",
    "ONNXProgram",
    "OnnxExporterError",
    "TrainingMode",
    "errors",
    "export",
    "is_in_onnx_export",
    "kinds_of_rows",
]
