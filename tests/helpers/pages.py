"""Web pages that the commands write, read again."""

import re
from html.parser import HTMLParser

URL = re.compile(r"url\(([^)]*)\)")


class Page(HTMLParser):
    """A page of HTML, read: text, rows of tables; faults: tags that do not nest, and what lies elsewhere."""

    VOID = {"meta", "br", "img", "link", "input", "hr"}

    def __init__(self, text):
        super().__init__()
        self.rows, self.faults, self.words, self._open = [], [], [], []
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> stays open" for tag in self._open]

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        for name, value in attributes:
            places = [value or ""] if name in ("src", "href", "xlink:href", "action") else URL.findall(value or "")
            if any(not place.startswith("#") for place in places):
                self.faults.append(f"{name} of {tag} is {value}")
        if tag in ("link", "img", "iframe", "object"):
            self.faults.append(f"has a {tag}")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}> closes another tag")

    def handle_data(self, data):
        if not {"script", "style"} & set(self._open):
            self.words.append(data)
        if {"td", "th"} & set(self._open):
            self.rows[-1][-1] += data

    @property
    def text(self):
        return " ".join(self.words)
