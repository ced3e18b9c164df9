from __future__ import annotations

import pytest

# Tests here read in their own process, as those of the units do.
from tests.unit.conftest import _read_in_this_process as _read_in_this_process

# The suites explain a failed assertion as well as tests of this folder do.
pytest.register_assert_rewrite("clew.testing.conformance", "tests.contract.suites")
