"""``python -m headwater`` is the command ``headwater``."""

import sys

from headwater.cli import main

sys.exit(main())
