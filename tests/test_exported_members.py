from __future__ import annotations

import subprocess
import sys

import clew

# Each takes longer to import than everything of Clew's own together.
HEAVY = ("numpy", "scipy", "onnx", "onnxruntime", "tokenizers", "rich")


def test_all_is_what_is_exported() -> None:
    """What the package defines or imports from its own modules, at once or when asked for."""
    own = {
        name
        for name, value in vars(clew).items()
        if str(getattr(value, "__module__", "")).partition(".")[0] == "clew"
    }
    public = {name for name in own | set(clew._MODULES) if not name.startswith("_")}

    assert len(clew.__all__) == len(set(clew.__all__))
    assert set(clew.__all__) - {"__version__"} == public


def test_every_exported_name_is_there() -> None:
    missing = [name for name in clew.__all__ if not hasattr(clew, name)]

    assert missing == []


def test_import_is_light() -> None:
    code = f"import sys, clew; print([name for name in {HEAVY!r} if name in sys.modules])"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8"
    )

    assert done.stdout.strip() == "[]"
