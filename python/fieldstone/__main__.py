"""``python -m fieldstone`` is the command ``fieldstone``."""

import sys

from .cli import main

sys.exit(main())
