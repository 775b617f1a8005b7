"""Amounts. `quantities.json` was recorded by running `resource.ParseQuantity` of k8s.io/apimachinery v0.36.2.

Each entry: the text, its amount in billionths (`null`: refused), and `Value()` and `MilliValue()` where they fit an int64.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubelet_sim.model.quantity import Quantity

RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "quantities.json").read_text(encoding="utf-8"))
READ = [entry for entry in RECORDED if entry["nano"] is not None]
REFUSED = [entry["text"] for entry in RECORDED if entry["nano"] is None]


@pytest.mark.parametrize("entry", READ, ids=lambda entry: repr(entry["text"]))
def test_reads_what_kubernetes_reads(entry: dict[str, Any]) -> None:
    """A quantity has the amount that the API machinery gives it, rounded and capped alike, and keeps its text."""
    quantity = Quantity.parse(entry["text"])
    assert quantity.amount == Fraction(int(entry["nano"]), 10**9)
    assert str(quantity) == entry["text"]


@pytest.mark.parametrize("entry", READ, ids=lambda entry: repr(entry["text"]))
def test_rounds_up_as_kubernetes_does(entry: dict[str, Any]) -> None:
    """As an integer and in thousandths, an amount is rounded up. Rules: DM-82"""
    quantity = Quantity.parse(entry["text"])
    if "value" in entry:
        assert quantity.value == int(entry["value"])
    if "milli" in entry:
        assert quantity.milli_value == int(entry["milli"])


@pytest.mark.parametrize("text", REFUSED, ids=repr)
def test_refuses_what_kubernetes_refuses(text: str) -> None:
    """A text that the API machinery cannot read raises ValueError."""
    with pytest.raises(ValueError):
        Quantity.parse(text)


@pytest.mark.parametrize("text", ["+", "-", ".", "k", "Ki", "e3", "E", ".Gi"])
def test_refuses_a_text_without_a_digit(text: str) -> None:
    """Kubernetes takes these for 0; we take them for typing errors."""
    with pytest.raises(ValueError):
        Quantity.parse(text)


@pytest.mark.parametrize("text", ["1e1001", "1e999999999999", "9" * 1001, "1e" + "9" * 900], ids=lambda t: t[:14])
def test_refuses_what_would_take_for_ever(text: str) -> None:
    """Absurd exponents and lengths are refused instead of multiplied out."""
    with pytest.raises(ValueError):
        Quantity.parse(text)


@pytest.mark.parametrize("text", ["1e-999999999", "0.1n", "9" * 900 + "e-2000"], ids=lambda t: t[-12:])
def test_the_smallest_amount_is_one_billionth(text: str) -> None:
    """Something never becomes nothing."""
    assert Quantity.parse(text).amount == Fraction(1, 10**9)


def test_equal_amounts_are_equal_however_written() -> None:
    """Only the amount is compared and hashed."""
    assert Quantity.parse("2") == Quantity.parse("2000m") == Quantity.of(2)
    assert len({Quantity.parse("1Ki"), Quantity.parse("1024")}) == 1
    assert Quantity.parse("1Ki") > Quantity.parse("1k")


def test_only_a_whole_amount_is_an_integer() -> None:
    """1.5 is no integer, 1500m × 2 would be."""
    assert Quantity.parse("3000m").is_integer
    assert not Quantity.parse("1500m").is_integer


@given(
    st.integers(min_value=-(10**30), max_value=10**30),
    st.sampled_from(["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]),
)
def test_decimal_amounts_are_exact(count: int, suffix: str) -> None:
    """A count with a decimal suffix is that count of that size."""
    one = Quantity.parse(f"1{suffix}").amount
    assert Quantity.parse(f"{count}{suffix}").amount == count * one


@given(st.text(max_size=12) | st.from_regex(r"[+-]?[0-9.]{0,5}[eEinumkKMGTP]{0,2}[+-]?[0-9]{0,6}", fullmatch=True))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but ValueError comes out of a text."""
    try:
        quantity = Quantity.parse(text)
    except ValueError:
        return
    assert quantity.amount.denominator <= 10**9


@pytest.mark.parametrize(
    "text, canonical",
    [
        ("0", "0"),
        ("1000m", "1"),
        ("0.5", "500m"),
        ("0.0005", "1m"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("-2000", "-2k"),
        ("1000E", "1000E"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("1e4", "10e3"),
        ("1e0", "1"),
    ],
)
def test_an_amount_is_written_as_the_api_server_writes_it(text: str, canonical: str) -> None:
    """An amount is written back as the API server writes it: suffixes of the kind it had, nothing behind the point."""
    assert Quantity.parse(text).canonical == canonical
