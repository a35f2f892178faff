"""Citations of the standard: each `[NN x.y]` has its section in docs/standard; no page outside of the tree is cited."""

import re
from pathlib import Path

import pytest

from helpers.tree import ROOT, sources

STANDARD = ROOT / "docs" / "standard"

HEADING = re.compile(r"^##+ (\d+(?:\.\d+)?) (?=\S)", re.MULTILINE)
CITATION = re.compile(r"\[NN\s[^\]]*\]")
ITEM = re.compile(r"(\d+(?:\.\d+)?)(?:-(\d+\.\d+))?((?: (?:row \d+|no\. \d+|[a-z](?:-[a-z])?|[A-Za-z]\w+))*)")
ABSENT = re.compile(r"(?<![\w/.])(?:hal\.md,?\s§?\d|(?:ops_[ab]|mlts|random_graph|ndk|design)\.md|vts/README)",
                    re.IGNORECASE)


def texts():
    """(name, text) of the files that may cite: all but this one."""
    return [(name, text) for name, text in sources().items() if ROOT / name != Path(__file__).resolve()]


def sections(pages):
    """{number: text} of the headings of pages; each number is there once."""
    found = {}
    for page in pages:
        parts = HEADING.split(page)[1:]
        for number, body in zip(parts[::2], parts[1::2]):
            assert number not in found, f"two headings are numbered {number}"
            found[number] = body
    return found


def ordered(number):
    return tuple(map(int, number.split(".")))


def faults(text, known):
    """What is wrong with the citations of a text: (line, words)."""
    for match in CITATION.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        for item in match[0][4:-1].split(","):
            parsed = ITEM.fullmatch(item.strip())
            if parsed is None:
                yield line, f"{match[0]} is not of the form [NN 3.4, 4.2-4.7, 11.9 row 8]"
                continue
            first, last, detail = parsed.groups()
            missing = [number for number in (first, last) if number and number not in known]
            if missing:
                yield line, f"{match[0]}: docs/standard has no section {missing[0]}"
            elif last and (ordered(first) >= ordered(last) or ordered(first)[0] != ordered(last)[0]):
                yield line, f"{match[0]} is no range"
            else:
                for word in re.findall(r"\w+", detail):
                    if not re.search(rf"\b{word}\b", known[first]):
                        yield line, f"{match[0]}: section {first} says nothing of {word}"
    for match in ABSENT.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, f"cites {match[0]}, a page that is not in the repository"


KNOWN = sections(path.read_text() for path in sorted(STANDARD.glob("*.md")))


def test_every_citation_has_its_section():
    found, count = [], 0
    for name, text in texts():
        found += [f"{name}:{line}: {what}" for line, what in faults(text, KNOWN)]
        count += len(CITATION.findall(text))
    assert found == []
    assert count > 200


def test_chapters_have_their_sections():
    assert {number for number in KNOWN if "." not in number} == {number.split(".")[0] for number in KNOWN}


def test_index_links_every_page():
    index = (STANDARD / "README.md").read_text()
    assert [page.name for page in STANDARD.glob("*.md") if page.name != "README.md" and f"({page.name})" not in index] \
        == []


def test_named_tests_have_their_section():
    numbers = {match[1].replace("_", ".") for name, text in texts() if name.endswith(".py")
               for match in re.finditer(r"^def test_(\d+_\d+)_", text, re.MULTILINE)}
    assert len(numbers) > 40 and numbers <= KNOWN.keys()


PAGE = "## 3 Calls\n\n### 3.4 Queries\n\n| 8 | row |\n\n### 3.6 Others\n"


@pytest.mark.parametrize(("text", "words"), [
    ("see [NN 3.4], [NN 3], [NN 3.4-3.6] and [NN 3.4 row 8, 3.6]", []),
    ("[NN_LD_PC] is a mark", []),
    ("docs/hal.md and [hal.md](hal.md#fences)", []),
    ("a\n[NN 3.5]", ["no section 3.5"]),
    ("[NN 3.4, 9]", ["no section 9"]),
    ("[NN 3.4-3.5]", ["no section 3.5"]),
    ("[NN 3.6-3.4]", ["is no range"]),
    ("[NN 3.4 row 9]", ["says nothing of 9"]),
    ("[NN 3.4; 3.6]", ["is not of the form"]),
    ("[NN 3.4\n3.6]", ["is not of the form"]),
    ("(hal.md 3.4)", ["cites hal.md 3"]),
    ("(HAL.md\n3.4)", ["cites HAL.md\n3"]),
    ("ops_a.md B, ops_b.md 71", ["cites ops_a.md", "cites ops_b.md"]),
    ("vts/README.md 4, mlts.md", ["cites vts/README", "cites mlts.md"]),
])
def test_what_is_found(text, words):
    found = [what for _, what in faults(text, sections([PAGE]))]
    assert len(found) == len(words) and all(word in what for word, what in zip(words, found)), found


def test_numbers_are_there_once():
    with pytest.raises(AssertionError, match=r"two headings are numbered 3\.4"):
        sections([PAGE, "### 3.4 Again\n"])
