from __future__ import annotations

import subprocess
import sys
import types

import clew

# Each takes longer to import than everything of Clew's own together.
HEAVY = ("numpy", "scipy", "onnx", "onnxruntime", "tokenizers", "rich")


def test_all_is_what_is_exported() -> None:
    public = {
        name
        for name in dir(clew)
        if not name.startswith("_") and not isinstance(getattr(clew, name), types.ModuleType)
    }

    assert list(clew.__all__) == sorted(set(clew.__all__), key=str.casefold)
    assert public == {name for name in clew.__all__ if not name.startswith("_")}


def test_every_exported_name_is_there() -> None:
    missing = [name for name in clew.__all__ if not hasattr(clew, name)]

    assert missing == []


def test_import_is_light() -> None:
    code = f"import sys, clew; print([name for name in {HEAVY!r} if name in sys.modules])"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8"
    )

    assert done.stdout.strip() == "[]"
