"""Makes the helpers beside the tests importable, here and in the runner's worker processes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
