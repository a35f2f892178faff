"""The tree itself: its text files, for tests of names, citations and recipes."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {"nnfast", "csrc", "tests", "ci", "asv_bench", "examples", "docs"}
SUFFIXES = {".py", ".pyx", ".pxi", ".pxd", ".pyi", ".c", ".h", ".inc", ".sh", ".md", ".toml", ".txt"}


@cache
def sources():
    """{name: text} of the text files under version control and new ones; in an unpacked source package, of all."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                                capture_output=True, check=True).stdout.decode().split("\0")
        places = [Path(name) for name in listed]
    else:
        places = [path.relative_to(ROOT) for top in sorted(FOLDERS) for path in (ROOT / top).rglob("*")]
        places += [path.relative_to(ROOT) for path in ROOT.iterdir()]
    return {str(place): (ROOT / place).read_text() for place in places
            if place.suffix in SUFFIXES and (len(place.parts) == 1 or place.parts[0] in FOLDERS)
            and (ROOT / place).is_file()}
