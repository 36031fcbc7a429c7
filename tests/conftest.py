"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes says more of the machine and its other users than of the code.
settings.register_profile("fieldstone", deadline=None)
settings.load_profile("fieldstone")
