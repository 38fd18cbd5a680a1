"""Random words in the place of secrets, and where they are found."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from secrets import token_hex


class Words:
    """A word for each place; the place is told if it is found where it may not be."""

    def __init__(self, *places: str) -> None:
        self._by_place = {place: token_hex(12) for place in places}

    def __getitem__(self, place: str) -> str:
        return self._by_place[place]

    def __setitem__(self, place: str, word: str) -> None:
        self._by_place[place] = word

    def found_in(self, content: bytes) -> list[str]:
        return [place for place, word in self._by_place.items() if any(form in content for form in forms(word))]


def forms(word: str) -> Iterator[bytes]:
    """The word as it is, and in the encodings in which it travels."""
    yield word.encode()
    yield word.encode().hex().encode()
    for shift in range(3):  # in the middle of something that is encoded as base64, at each of its positions
        encoded = base64.b64encode(b"\0" * shift + word.encode())
        yield encoded[4 if shift else 0 : len(encoded) // 4 * 4 - 4]
