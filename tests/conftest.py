"""Settings of all tests."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import settings

# How long an example takes says more of the machine and its other users than of the code.
settings.register_profile("fieldstone", deadline=None)
settings.load_profile("fieldstone")

# Machine code of the tests stays in the tree.
CODE = Path(__file__).resolve().parents[1] / ".pytest_cache" / "code"
os.environ.setdefault("FIELDSTONE_CACHE_DIR", str(CODE))
