"""Links and pictures of a built site that lead nowhere within it: python ci/check_links.py FOLDER"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and the anchors that it has."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors.update(found[key] for key in ("id", "name") if found.get(key))
        self.links += [found[key] for key in ("href", "src") if found.get(key)]


def broken(folder):
    """(page, link) of each that leads nowhere; links to other sites are not followed."""
    pages = {path: Page(path.read_text()) for path in folder.rglob("*.html") if path.name != "404.html"}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            gone = not target.exists()
            if gone or (parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors):
                yield path.relative_to(folder), link
    if not pages:
        yield folder, "no page"


if __name__ == "__main__":
    wrong = list(broken(Path(sys.argv[1]).resolve()))
    print("\n".join(f"{page}: {link}" for page, link in wrong) or "every link leads somewhere")
    sys.exit(bool(wrong))
