"""What exporting raises: ``OnnxExporterError``, and ``UnsupportedOperatorError`` where operations have no ONNX form.

RuntimeError
└── OnnxExporterError
    └── UnsupportedOperatorError
"""

from __future__ import annotations

__all__ = ["OnnxExporterError", "UnsupportedOperatorError"]


class OnnxExporterError(RuntimeError):
    """A model cannot be exported; nothing was written."""


class UnsupportedOperatorError(OnnxExporterError):
    """Operations have no ONNX form; all of them are named.

    Attributes
    ----------
    operators : list of str
        Their names.
    """

    def __init__(self, message: str, operators: list[str]) -> None:
        super().__init__(message)
        self.operators = operators
