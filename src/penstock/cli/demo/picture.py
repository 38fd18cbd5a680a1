"""One-minute bars as a page for a browser: a chart of candles for each symbol, drawn in SVG.

A candle goes from low to high, its body from open to close; green if the price rose, red if it fell. Nothing is loaded
from anywhere.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

WIDTH, HEIGHT = 920, 190
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 30, 26
RISEN, FALLEN, LINES = "#1a7f4b", "#c0392b", "#d8dde3"
LABELS = 4
EVERY_MINUTES = 5
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Penstock: one-minute bars</title>
<style>
  body {{ font: 15px system-ui, sans-serif; color: #20262c; margin: 2rem auto; max-width: {width}px; }}
  svg {{ display: block; width: 100%; height: auto; }}
  p {{ color: #5b6670; }}
</style>
<h1>One-minute bars</h1>
<p>{count} bars of {symbols} symbols: a topic in Penstock, a pipeline on Spark, a table.</p>
{svg}
</html>
"""

Bar = Mapping[str, Any]


def bars_page(bars: Sequence[Bar]) -> str:
    symbols = {bar["symbol"] for bar in bars}
    return PAGE.format(width=WIDTH, count=len(bars), symbols=len(symbols), svg=bars_svg(bars))


def bars_svg(bars: Sequence[Bar]) -> str:
    """Draw the charts one above the other, as a complete SVG document."""
    by_symbol: dict[str, list[Bar]] = {}
    for bar in bars:
        by_symbol.setdefault(bar["symbol"], []).append(bar)
    minutes = sorted({bar["minute"] for bar in bars})
    parts = [
        f'<g transform="translate(0 {HEIGHT * number})">{_chart(symbol, rows, minutes)}</g>'
        for number, (symbol, rows) in enumerate(sorted(by_symbol.items()))
    ]
    height = HEIGHT * len(by_symbol)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{WIDTH}" height="{height}" fill="white"/>', *parts, "</svg>"])


def _chart(symbol: str, bars: Sequence[Bar], minutes: Sequence[str]) -> str:
    low, high = min(float(bar["low"]) for bar in bars), max(float(bar["high"]) for bar in bars)
    room = (high - low) or 1.0
    step = (WIDTH - LEFT - RIGHT) / max(1, len(minutes))

    def across(minute: str) -> float:
        return LEFT + step * (minutes.index(minute) + 0.5)

    def down(price: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - price) / room

    parts = [f'<text x="{LEFT}" y="18" font-size="14" font-weight="bold">{html.escape(symbol)}</text>']
    for number in range(LABELS):
        price = low + room * number / (LABELS - 1)
        parts.append(_line(LEFT, down(price), WIDTH - RIGHT, down(price), LINES, 1))
        parts.append(_label(LEFT - 6, down(price) + 4, "end", f"{price:.2f}"))
    for minute in minutes[::EVERY_MINUTES]:
        parts.append(_label(across(minute), HEIGHT - 8, "middle", minute[11:16]))
    for bar in bars:
        parts += _candle(bar, across(bar["minute"]), down, 0.6 * step)
    return "".join(parts)


def _candle(bar: Bar, x: float, down: Callable[[float], float], width: float) -> list[str]:
    colour = RISEN if bar["close"] >= bar["open"] else FALLEN
    top, bottom = sorted((down(bar["open"]), down(bar["close"])))
    title = html.escape(f"{bar['minute']}: {bar['open']} to {bar['close']}, {bar['volume']} traded")
    body = f'x="{x - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" height="{max(1.0, bottom - top):.1f}"'
    return [
        _line(x, down(bar["high"]), x, down(bar["low"]), colour, 1.4),
        f'<rect {body} fill="{colour}"><title>{title}</title></rect>',
    ]


def _line(x: float, y: float, to_x: float, to_y: float, colour: str, width: float) -> str:
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def _label(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" fill="#5b6670" text-anchor="{anchor}">{text}</text>'
