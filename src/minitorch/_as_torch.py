"""``torch`` as a name of minitorch: ``import torch.nn`` gives the module ``minitorch.nn`` itself.

``python -m minitorch script.py`` installs this before it runs a script.
"""

from __future__ import annotations

import difflib
import dis
import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from multiprocessing import forkserver, spawn
from types import ModuleType
from typing import Any

OWN = __name__.partition(".")[0]
VERSION = "2.13.0"
"""The version of PyTorch whose behaviour minitorch has: what scripts compare ``torch.__version__`` with."""

NEEDS_PYTORCH = (
    "accelerate", "functorch", "lightning", "lightning_fabric", "pytorch_lightning", "tensordict", "timm", "torch_geometric",
    "torchaudio", "torchdata", "torchmetrics", "torchrl", "torchtext", "torchvision", "triton",
)  # fmt: skip
"""Packages that are built on PyTorch's own compiled parts."""

ABSENT = {
    "distributed": "minitorch computes in one process",
    "fx": "minitorch traces no programs; autograd.Tape lists what was recorded",
    "onnx": "minitorch exports no models; save the state dict",
    "ao": "minitorch computes in floating point",
    "quantization": "minitorch computes in floating point",
    "sparse": "tensors are dense; sparse_coo_tensor(...).to_dense() makes them so",
    "nn.attention.flex_attention": "there is no compiler for functions of scores; give scaled_dot_product_attention a mask",
    "nn.attention.varlen": "it is a kernel of CUDA devices",
    "optim.SparseAdam": "gradients are dense; Adam updates them",
    "utils.tensorboard": "it is PyTorch's own code; write values to a file, or with a package that needs no PyTorch",
    "_dynamo": "there is nothing to compile with: torch.compile returns the function itself",
    "_inductor": "there is nothing to compile with: torch.compile returns the function itself",
}
"""Modules of PyTorch that are left out, and why."""


def install() -> None:
    """From here on, ``torch`` is minitorch, and names that it has not are reported with their nearest."""
    package = importlib.import_module(OWN)
    sys.meta_path.insert(0, _Finder())
    for name, module in list(sys.modules.items()):
        if name == OWN or name.startswith(OWN + "."):
            module.__class__ = _Module
    _follow_processes()
    package.__dict__["__version__"] = package.version.__version__ = f"{VERSION}+{OWN}.{package.__version__}"


def _follow_processes() -> None:
    """Let processes that start afresh begin with `install` too: their main module imports ``torch`` again."""
    told = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {OWN: _Installed(), **told(name)}  # read first, before anything of the program

    spawn.get_preparation_data = get_preparation_data
    forkserver.set_forkserver_preload([])  # rather than the program, whose ``torch`` would be another


class _Installed:
    """Unpickling it installs."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _install_once, ()


def _install_once() -> None:
    if not any([isinstance(finder, _Finder) for finder in sys.meta_path]):
        install()


def shown(name: str) -> str:
    """A module's name as the script knows it."""
    return "torch" + name.removeprefix(OWN)


def nearest(module: ModuleType, name: str) -> str:
    """A hint at names of a module that are like one that it has not, or at where else that name is."""
    public = [n for n in dir(module) if not n.startswith("_")]
    close = [f"{shown(module.__name__)}.{n}" for n in difflib.get_close_matches(name, public, 3, 0.7)]
    for place in (OWN, f"{OWN}.nn", f"{OWN}.nn.functional", f"{OWN}.optim", f"{OWN}.linalg", f"{OWN}.utils.data"):
        if place in sys.modules and name in getattr(sys.modules[place], "__all__", dir(sys.modules[place])):
            close.insert(0, f"{shown(place)}.{name}")
    return f"; the nearest that there is: {', '.join(close)}" if close else ""


class _Module(ModuleType):
    """A module of minitorch in a script that calls it torch."""

    def __getattr__(self, name: str) -> Any:
        own = self.__name__
        if name.startswith("__"):
            raise AttributeError(f"module {own!r} has no attribute {name!r}")
        frame = sys._getframe(1)
        path = f"{shown(own)}.{name}"
        reason = ABSENT.get(path.removeprefix("torch."))
        message = f"minitorch has no {path}" + (f": {reason}" if reason else nearest(self, name))
        if frame.f_code.co_code[frame.f_lasti] == dis.opmap["IMPORT_FROM"]:
            raise ImportError(message, name=own)
        raise AttributeError(message)


class _Finder(MetaPathFinder):
    """Finds ``torch.x`` in ``minitorch.x``, and refuses what needs PyTorch itself.

    ``safetensors.torch`` is ``minitorch.safetensors``.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top, _, below = fullname.partition(".")
        if top in NEEDS_PYTORCH:
            raise ImportError(
                f"{fullname} needs PyTorch itself, and this script runs with minitorch; docs/how-to/without-torchvision.md "
                "says how to read data without torchvision",
                name=fullname,
            )
        if top == OWN and below:
            spec = PathFinder.find_spec(fullname, path, target)
            if spec is not None and isinstance(spec.loader, SourceFileLoader):
                spec.loader = _OwnLoader(fullname, spec.loader.path)
            return spec
        if fullname == "safetensors.torch":
            return ModuleSpec(fullname, _Alias(f"{OWN}.safetensors"))
        if fullname == "safetensors":
            spec = PathFinder.find_spec(fullname, path, target)
            if spec is not None and isinstance(spec.loader, SourceFileLoader):
                spec.loader = _SafetensorsLoader(fullname, spec.loader.path)
            return spec
        if top != "torch":
            return None
        own = OWN + fullname.removeprefix("torch")
        if not below:
            return ModuleSpec(fullname, _Alias(own), is_package=True)
        parent, _, name = own.rpartition(".")
        if PathFinder.find_spec(own, getattr(importlib.import_module(parent), "__path__", [])) is None:
            reason = ABSENT.get(below)
            hint = f": {reason}" if reason else nearest(sys.modules[parent], name)
            raise ModuleNotFoundError(f"minitorch has no module {fullname}{hint}", name=fullname)
        return ModuleSpec(fullname, _Alias(own))


class _OwnLoader(SourceFileLoader):
    """Loads a module of minitorch later on."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        module.__class__ = _Module


class _SafetensorsLoader(SourceFileLoader):
    """Loads the package ``safetensors`` so that its ``safe_open`` gives these tensors."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        own = importlib.import_module(f"{OWN}.safetensors").safe_open
        own.of_the_library, module.safe_open = module.safe_open, own  # type: ignore[attr-defined]


class _Alias(Loader):
    """Gives a module of minitorch under its other name."""

    def __init__(self, own: str) -> None:
        self.own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.own)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has just set the alias's
