from collections.abc import Mapping
from typing import Any

__version__: str

# interface.rs

def describe_field(object: Any, mapping: Mapping[str, str] | None = None, name: str = "object") -> dict[str, Any]: ...
