"""Functions of functions: a module called with other tensors than its own."""

from .nn.utils._functional_call import functional_call

__all__ = ["functional_call"]
