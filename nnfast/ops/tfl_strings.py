"""Operations on strings. In a model a string is its number among the Strings of that model, an int32."""

from itertools import count
from weakref import WeakValueDictionary

import numpy as np

from .tfl import INTEGERS, own, same_dtype

_TABLES, _NEXT = WeakValueDictionary(), count(1)
_SPACES = b" \t\n\v\f\r"
MOST_GRAMS = 1 << 22
"""Most results of SKIP_GRAM."""


class Strings:
    """The strings of a model, each once, by their numbers: constants first, then those of a run. 0 is the empty one.

    number: what operations that make strings find this object by. Use it from one thread at a time.
    """

    def __init__(self):
        self._texts, self._numbers = [b""], {b"": 0}
        self._constants = 1
        self.number = next(_NEXT)
        _TABLES[self.number] = self

    def number_of(self, text):
        """Number of a string, bytes."""
        number = self._numbers.setdefault(text, len(self._texts))
        if number == len(self._texts):
            self._texts.append(text)
        return number

    def numbers_of(self, array):
        """int32 array of an array of bytes."""
        return np.array([self.number_of(text) for text in array.reshape(-1)], np.int32).reshape(array.shape)

    def texts_of(self, numbers):
        """Array of bytes, dtype object, of an int32 array."""
        array = np.empty(numbers.shape, object)
        array.reshape(-1)[:] = [self._texts[number] for number in numbers.reshape(-1)]
        return array

    def text(self, number):
        return self._texts[number]

    def keep(self):
        """The strings so far are the model's constants."""
        self._constants = len(self._texts)

    def restart(self):
        """Forget what is no constant, before a run."""
        for text in self._texts[self._constants:]:
            del self._numbers[text]
        del self._texts[self._constants:]


def words_of(text):
    """The words of a sentence as LiteRT splits it: a single space before the first word takes that word with it."""
    words, begin = [], 0
    for place in range(1, len(text)):
        if text[place] in _SPACES:
            if place > begin and text[begin] not in _SPACES:
                words.append(text[begin:place])
            begin = place + 1
    if begin < len(text):
        words.append(text[begin:])
    return words


def _grams(words, size, most_skipped, with_shorter, go_on):
    """All choices of up to `size` words in their order, with at most so many left out between two of them; a choice
    comes behind those that go on from it.
    """
    chosen = [0]
    while chosen:
        if len(chosen) < size and chosen[-1] + 1 < len(words) and most_skipped >= 0:
            chosen.append(chosen[-1] + 1)
            continue
        while chosen:
            if with_shorter or len(chosen) == size:
                go_on()
                yield b" ".join([words[place] for place in chosen])
            following, first = chosen.pop() + 1, not chosen
            if following < len(words) and (first or following - chosen[-1] <= most_skipped + 1):
                chosen.append(following)
                break


def compute_skip_gram(node, inputs):
    """Skip-grams of one sentence; none where it has fewer words than they may have."""
    strings = _TABLES.get(node.scalar("strings"))
    if strings is None:
        node.fail_run("strings", "is no table of strings of this process")
    size, words = node.scalar("ngram_size"), words_of(strings.text(int(node.element("input", inputs[0]))))
    found = []
    if 0 < size <= len(words):
        for gram in _grams(words, size, node.scalar("max_skip_size"), node.scalar("include_all"), node.go_on):
            found.append(strings.number_of(gram))
            if len(found) > MOST_GRAMS:
                node.fail_run("input", f"has more than {MOST_GRAMS} skip-grams")
    return [np.array(found, np.int32)]


TFL_SKIP_GRAM = own(
    "TFL_SKIP_GRAM", {"input:I32 ngram_size:i32 max_skip_size:i32 include_all:bool strings:i32 -> output:I32": {}},
    compute_skip_gram,
)


def infer_find(node):
    """A value for each key that is looked up."""
    node.check_rank("keys", 1)
    if node["keys"].shape != node["values"].shape:
        node.fail("values", f"has shape {list(node['values'].shape)}, must be that of keys, {list(node['keys'].shape)}")
    return [node["input"].shape]


def compute_find(node, inputs):
    """The value of each key; the default where there is none. Of equal keys the first counts."""
    wanted, keys, values, default = inputs
    if not keys.size:
        return [np.full(wanted.shape, node.element("default", default), values.dtype)]
    order = np.argsort(keys, kind="stable")
    places = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), keys.size - 1)]
    return [np.where(keys[places] == wanted, values[places], node.element("default", default)).astype(values.dtype)]


TFL_HASHTABLE_FIND = own(
    "TFL_HASHTABLE_FIND", {"input:K keys:L values:V default:D -> output:W":
                           {"K": INTEGERS, "L": INTEGERS, "V": INTEGERS, "D": INTEGERS, "W": INTEGERS}},
    compute_find, infer_find, same_dtype("values", "default"),
)
