"""What comes before anything is collected."""

import gc
import importlib.util
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is loaded: tests run side by side
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

import minitorch  # noqa: F401  (as a whole: doctests would import their file, and the packages around it, one by one)

collect_ignore = [] if importlib.util.find_spec("onnx") else ["src/minitorch/onnx/_export.py"]  # its example needs it

# A first call compiles its operation, and a machine may be busy: neither is a fault of what is tested.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", PATIENT, derandomize=True, print_blob=True)
settings.register_profile("people", PATIENT)
settings.load_profile("ci" if os.environ.get("CI") else "people")


def leave_out_of_collections(item: pytest.Item) -> None:
    """Leave what is there, some million objects that stay, out of later looks for garbage, the tests' own among them.

    Not where it belongs to examples: they ask what holds their tensors, which are their variables.
    """
    if not isinstance(item, pytest.DoctestItem):
        gc.collect()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    gc.disable()
    try:
        return (yield)
    finally:
        for item in session.items[-1:]:
            leave_out_of_collections(item)
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is not None and nextitem.path != item.path:
        leave_out_of_collections(nextitem)


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Where PyTorch is missing, a test that is marked to need it is skipped once, for all its cases."""
    if importlib.util.find_spec("torch"):
        return
    marked = [item for item in items if item.get_closest_marker("pytorch")]
    first = {item.nodeid.partition("[")[0]: item for item in reversed(marked)}
    for name, count in Counter([item.nodeid.partition("[")[0] for item in marked]).items():
        first[name].add_marker(pytest.mark.skip(reason=f"needs PyTorch in each of its {count} cases"))
    left_out = {id(item) for item in marked} - {id(item) for item in first.values()}
    items[:] = [item for item in items if id(item) not in left_out]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process its half, and of another's when it has done its own, rather than the tests one by one."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.option.dist == "load" else None
