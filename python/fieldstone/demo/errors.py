"""The one exception of the demo."""

from __future__ import annotations


class DemoError(Exception):
    """The demo cannot do what was asked; the message is one sentence for the user."""
