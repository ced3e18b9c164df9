from __future__ import annotations

import pytest

# The shipped suites explain a failed assertion as well as tests of this folder do.
pytest.register_assert_rewrite("clew.testing.conformance")
