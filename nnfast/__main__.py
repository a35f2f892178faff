"""`python -m nnfast`: the same as the `nnfast` command."""

import sys

from .cli.main import main

sys.exit(main())
