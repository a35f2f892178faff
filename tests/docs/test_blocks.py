"""The programs of the documentation run as they stand: the blocks of a page one after the other."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/start.md",)
"""Pages whose programs need no files but those of the package."""
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)


def blocks(path):
    """The Python blocks of a page."""
    return BLOCK.findall(path.read_text())


@pytest.mark.parametrize("page", PAGES)
def test_pages_run_from_top_to_bottom(page, tmp_path):
    programs = blocks(ROOT / page)
    assert programs
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", "\n".join(programs)], cwd=tmp_path, env=environment, text=True,
                         capture_output=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""


ALL = sorted(str(path.relative_to(ROOT)) for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("page", [page for page in ALL if blocks(ROOT / page)])
def test_python_blocks_are_python(page):
    for number, text in enumerate(blocks(ROOT / page)):
        compile(text, f"{page}, block {number}", "exec")
