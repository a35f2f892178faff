"""Pages of the site that stand at the root of the repository, with their links as the site has them (mkdocs.yml)."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md",
         "SECURITY.md": "reporting.md", "examples/README.md": "examples.md",
         "packaging/README.md": "packaging.md"}
"""File of the repository -> page."""
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]*)(#[^)\s]*)?\)")


def on_files(files, config):
    """Add the pages from the root."""
    for source, page in PAGES.items():
        text = linked((ROOT / source).read_text(), source, page)
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, **_):
    """Links out of docs/, as the repository has them."""
    place = page.file.src_uri
    return markdown if place in PAGES.values() else linked(markdown, f"docs/{place}", place)


def linked(text, source, page):
    """A file's text with its links to files of the repository as links to pages. source, page: where it is and goes."""
    def link(found):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[1]))
        if target.startswith("examples/") and target not in PAGES:
            target = "examples/README.md"
        target = PAGES.get(target) or target.removeprefix("docs/")
        return f"]({posixpath.relpath(target, posixpath.dirname(page) or '.')}{found[2] or ''})"

    return LINK.sub(link, text)
