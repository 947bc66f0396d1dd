"""`python -m twinloop` is `twinloop`."""

import sys

from twinloop.cli import main

if __name__ == "__main__":
    sys.exit(main())
