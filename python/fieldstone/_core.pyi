from collections.abc import Mapping
from typing import Any, SupportsIndex

__version__: str

# interface.rs

def describe_field(object: Any, mapping: Mapping[str, str] | None = None, name: str = "object") -> dict[str, Any]: ...

# threads.rs

def num_threads() -> int: ...
def set_num_threads(threads: SupportsIndex) -> None: ...
