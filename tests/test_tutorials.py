"""The pictures in docs/tutorials are those that its script draws."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TUTORIALS = Path(__file__).parent.parent / "docs" / "tutorials"


def test_pictures_are_as_they_are_drawn() -> None:
    script = (
        "from draw import pictures\nfor name, text in pictures().items(): assert open(f'img/{name}.svg').read() == text"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=TUTORIALS, capture_output=True, text=True)
    assert ran.returncode == 0, f"draw them anew: python docs/tutorials/draw.py\n{ran.stderr}"
