"""Amounts of a resource, exact, written as Kubernetes writes them (`2`, `500m`, `64Gi`, `1e3`)."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import cached_property, total_ordering

from attrs import field, frozen

_SUFFIXES: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_GRAMMAR = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[A-Za-z]*))"
)
_KIBI = 1024
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {-3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_LARGEST_POWER = max(_DECIMAL)
_LONGEST_TEXT = 1000
_LARGEST_EXPONENT = 1000
_NANO = 10**9
_MAX = 2**63 - 1
"""The cap of the API machinery, which it applies to amounts with a binary suffix only."""


@total_ordering
@frozen(order=False)
class Quantity:
    """An exact amount, and the text it was written as. Equal amounts are equal, however they are written."""

    amount: Fraction
    text: str = field(eq=False)

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read a quantity as the API server does: what is finer than 1n is rounded away from 0, binary amounts are capped.

        Raises `ValueError` for anything outside the grammar (space around a number is the caller's to strip), and for
        texts over 1000 characters and exponents over 1000, which Kubernetes would multiply out. A text without a digit
        is refused, too: the API machinery takes a bare `k` for 0, but nobody means that.
        """
        match = _GRAMMAR.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
        if match is None:
            raise ValueError(text)
        suffix, exponent = match["suffix"], match["exponent"]
        if exponent is not None:
            scale = _power_of_ten(int(exponent), text)
        elif suffix in _SUFFIXES:
            scale = _SUFFIXES[suffix]
        else:
            raise ValueError(text)
        size = Fraction(math.ceil(Fraction(match["number"]) * scale * _NANO), _NANO)
        if suffix and suffix.endswith("i"):
            size = min(size, Fraction(_MAX))
        return cls(-size if match["sign"] == "-" else size, text)

    @classmethod
    def of(cls, count: int) -> Quantity:
        """The quantity that is a plain number of things."""
        return cls(Fraction(count), str(count))

    @property
    def value(self) -> int:
        """As an integer, rounded up. Rules: DM-82"""
        return math.ceil(self.amount)

    @property
    def milli_value(self) -> int:
        """In thousandths, rounded up: how cpu is counted."""
        return math.ceil(self.amount * 1000)

    @cached_property
    def canonical(self) -> str:
        """As the API server writes it back: whole, with the largest suffix of its kind that leaves it so; at most thousandths."""
        sign = "-" if self.amount < 0 else ""
        match, size = _GRAMMAR.fullmatch(self.text), abs(Fraction(math.ceil(self.amount * 1000), 1000))
        written = match["suffix"] or "" if match else ""
        if written.endswith("i") and size >= _KIBI:
            size, number = Fraction(math.ceil(size)), 0
            while size % _KIBI == 0 and number < len(_BINARY) - 1:
                size, number = size / _KIBI, number + 1
            return f"{sign}{size}{_BINARY[number]}"
        power = -3 if size.denominator > 1 else 0
        size /= Fraction(10) ** power
        has_exponent = match is not None and match["exponent"] is not None
        while size and size % 1000 == 0 and (has_exponent or power < _LARGEST_POWER):
            size, power = size / 1000, power + 3
        if has_exponent:
            return f"{sign}{size}e{power}" if power else f"{sign}{size}"
        return f"{sign}{size}{_DECIMAL[power]}"

    @property
    def is_integer(self) -> bool:
        """Whether nothing has to be rounded."""
        return self.amount.denominator == 1

    def __lt__(self, other: Quantity) -> bool:
        return self.amount < other.amount

    def __str__(self) -> str:
        return self.text


def amount_text(name: str, amount: Fraction) -> str:
    """An amount of a resource as kubectl sums it up: cpu in thousandths, memory in the largest unit, where it is not whole."""
    if name == "cpu" and amount.denominator != 1:
        return f"{math.ceil(amount * 1000)}m"
    value = math.ceil(amount)
    if name in {"memory", "ephemeral-storage"} or name.startswith("hugepages-"):
        for suffix in ("Gi", "Mi", "Ki"):
            if value and value % _SUFFIXES[suffix] == 0:
                return f"{value // int(_SUFFIXES[suffix])}{suffix}"
    return str(value)


def _power_of_ten(exponent: int, text: str) -> Fraction:
    if exponent > _LARGEST_EXPONENT:
        raise ValueError(text)
    # Whatever is smaller still ends as 1n: no text is long enough to make up for it.
    return Fraction(10) ** max(exponent, -_LARGEST_EXPONENT - _LONGEST_TEXT)
