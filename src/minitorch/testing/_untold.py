"""What right gradients say nothing of: entries that could not be compared, functions with nothing to compare."""

from __future__ import annotations

import numpy as np

from .._views import current_node
from ..autograd._subject import Subject
from ._setting import Setting


def untold(subject: Subject, setting: Setting) -> tuple[list[str], bool]:
    """What is to be known of a comparison in which nothing was wrong, in words; and whether nothing was compared but zeros."""
    if not subject.base.size or not sum(subject.sizes):
        which = "inputs" if not sum(subject.sizes) else "outputs"
        return [f"nothing was compared: the {which} have no elements"], True
    notes = []
    still = sum([int((~np.isfinite(a)).sum()) for a in subject.arrays])
    if still:
        notes.append(
            f"{still} of {sum(subject.sizes)} input elements are infinite or NaN: they cannot be moved, and the gradient by "
            "them was not compared"
        )
    unknown = int((~np.isfinite(subject.base)).sum())
    if unknown:
        notes.append(f"{unknown} of {subject.base.size} output elements are infinite or NaN, and were not compared")
    if any([g is not None and g.any() for g in setting.gradients]):
        return notes, False
    outputs = subject.point()[0]
    if all([current_node(outputs[o]) is None for o in subject.which]):
        notes.append("no output requires grad: the function returns a constant, and nothing but zeros was compared")
    else:
        notes.append("the gradient is zero, and so are all slopes: nothing but zeros was compared")
    return notes, True
