"""Draws what a terminal shows as an SVG picture, for the README and the pages of docs/.

    annals --color always usage | python3 docs/terminal_svg.py 'annals usage' > docs/screens/usage.svg
    tmux capture-pane -e -p | python3 docs/terminal_svg.py > docs/screens/picker.svg

Reads text with SGR sequences (bold, dim, reverse, the 16 colours) on stdin; an argument is drawn above it as the command.
"""
import html
import re
import sys
import unicodedata

WIDTH, HEIGHT, MARGIN = 8.4, 18, 12
COLOURS = ["#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4"]
BRIGHT = ["#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff"]
FOREGROUND, BACKGROUND, DIMMED = "#c9d1d9", "#0d1117", "#8b949e"
SGR = re.compile(r"\x1b\[([0-9;]*)m")
OTHER = re.compile(r"\x1b(?!\[[0-9;]*m)(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|\][^\x07]*\x07)|[\x0e\x0f\r]")


def columns(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def changed(style, codes):
    """The style after a sequence of SGR codes."""
    codes = re.sub(r"38;5;(\d+)", lambda found: str(30 + int(found[1]) if int(found[1]) < 8 else 82 + int(found[1])), codes)
    for code in [int(code or 0) for code in codes.split(";")]:
        if code == 0:
            style = {}
        elif code in (1, 2, 7):
            style = {**style, {1: "bold", 2: "dim", 7: "reverse"}[code]: True}
        elif code in (22, 27):
            style = {key: value for key, value in style.items() if key not in (("bold", "dim") if code == 22 else ("reverse",))}
        elif 30 <= code <= 37:
            style = {**style, "colour": COLOURS[code - 30]}
        elif 90 <= code <= 97:
            style = {**style, "colour": BRIGHT[code - 90]}
        elif code == 39:
            style = {key: value for key, value in style.items() if key != "colour"}
    return style


def pieces(line, style):
    """The pieces of a line, each with its style; then the style that the next line begins with."""
    found, at = [], 0
    for match in SGR.finditer(line):
        found.append((line[at : match.start()], style))
        style, at = changed(style, match.group(1)), match.end()
    return [(text, style) for text, style in found + [(line[at:], style)] if text], style


def drawn(text, style, x, y):
    """One piece as SVG elements."""
    colour = style.get("colour", DIMMED if style.get("dim") else FOREGROUND)
    ground = ""
    if style.get("reverse"):
        ground = f'<rect x="{x:.1f}" y="{y - 13.5:.1f}" width="{columns(text) * WIDTH:.1f}" height="{HEIGHT}" fill="{colour}"/>'
        colour = BACKGROUND
    weight = ' font-weight="bold"' if style.get("bold") else ""
    length = f' textLength="{columns(text) * WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'{ground}<text x="{x:.1f}" y="{y:.1f}" fill="{colour}"{weight}{length}>{html.escape(text)}</text>'


def main():
    text = OTHER.sub("", sys.stdin.read())
    lines = text.rstrip("\n").split("\n")
    if len(sys.argv) > 1:
        lines = [f"\x1b[2m$\x1b[0m {sys.argv[1]}", ""] + lines
    body, widest, style = [], 0, {}
    for number, line in enumerate(lines):
        x, y = MARGIN, MARGIN + 22 + number * HEIGHT + 14
        found, style = pieces(line.expandtabs(8), style)
        for text, of in found:
            body.append(drawn(text, of, x, y))
            x += columns(text) * WIDTH
        widest = max(widest, x)
    width, height = widest + MARGIN, 2 * MARGIN + 22 + len(lines) * HEIGHT
    dots = "".join(f'<circle cx="{16 + 18 * at}" cy="16" r="5.5" fill="{fill}"/>' for at, fill in enumerate(["#ff5f57", "#febc2e", "#28c840"]))
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
          f'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14" xml:space="preserve">')
    print(f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>{dots}')
    print("\n".join(body))
    print("</svg>")


if __name__ == "__main__":
    main()
