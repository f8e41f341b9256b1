#!/usr/bin/env python3
"""Draws docs/images/ask.svg: what `sluice ask` prints on a terminal, asked over docs.

    python3 scripts/picture.py

It needs Go and nothing else. The text and its colours are the program's own; long lines are broken between words.
"""

import html
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

QUESTION = "What is a cursor, what is grace, and how do I cancel a run?"
COLUMNS = 100
CHAR, LINE, PAD, BAR = 8.4, 20, 20, 34
COLOURS = {"": "#d7dde5", "1": "#ffffff", "2": "#8b95a3", "31": "#ff7b72", "32": "#7ee2a8", "33": "#f2c14e", "34": "#79b8ff", "36": "#76e3ea"}
SGR = re.compile(r"\x1b\[([0-9;]*)m")
SHOWN = "\x1b[?25h"  # the cursor is back: what follows stays


def record(command):
    """Runs a command on a terminal of its own, of COLUMNS columns, and gives what it leaves behind there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm-256color"}
    running = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True)
    os.close(theirs)
    parts = []
    try:
        while data := os.read(ours, 65536):
            parts.append(data)
    except OSError:
        pass  # the other end is closed
    text = b"".join(parts).decode().replace("\r", "")
    if running.wait() != 0:
        raise SystemExit("the command failed:\n" + text)
    text = text[text.rfind(SHOWN) + len(SHOWN) if SHOWN in text else 0 :]  # the panel is erased before
    sys.stdout.write(text)
    return text


def cells(text):
    """Gives lines of (character, style). Of several styles at once, the one set last counts."""
    lines, style, at = [[]], "", 0
    for m in list(SGR.finditer(text)) + [None]:
        for c in text[at : m.start() if m else len(text)]:
            if c == "\n":
                lines.append([])
            else:
                lines[-1].append((c, style))
        if m:
            style, at = m[1] if m[1] in COLOURS else "", m.end()
    return lines


def wrap(line):
    """Breaks a line between words where it is longer than the terminal."""
    while len(line) > COLUMNS:
        cut = max((i for i in range(COLUMNS) if line[i][0] == " "), default=COLUMNS)
        yield line[:cut]
        line = line[cut + 1 :]
    yield line


def draw(lines):
    width, height = COLUMNS * CHAR + 2 * PAD, BAR + len(lines) * LINE + PAD
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" role="img">',
        f"<title>sluice ask: {html.escape(QUESTION)}</title>",
        f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1}" rx="9" fill="#161b22" stroke="#3d4654"/>',
        "".join(f'<circle cx="{PAD + 18 * i}" cy="18" r="5.5" fill="{c}"/>' for i, c in enumerate(("#ff5f57", "#febc2e", "#28c840"))),
        '<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="14" xml:space="preserve">',
    ]
    for row, line in enumerate(lines):
        at = 0
        while at < len(line):
            end = at
            while end < len(line) and line[end][1] == line[at][1]:
                end += 1
            text = "".join(c for c, _ in line[at:end])
            if text.strip():
                bold = ' font-weight="bold"' if line[at][1] == "1" else ""
                out.append(
                    f'<text x="{PAD + at * CHAR:.1f}" y="{BAR + (row + 1) * LINE - 5}" textLength="{len(text) * CHAR:.1f}" '
                    f'fill="{COLOURS[line[at][1]]}"{bold}>{html.escape(text)}</text>'
                )
            at = end
    return "\n".join(out + ["</g>", "</svg>", ""])


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    with tempfile.TemporaryDirectory() as tmp:
        program, data = os.path.join(tmp, "sluice"), os.path.join(tmp, "data")
        subprocess.run(["go", "build", "-o", program, "./cmd/sluice"], check=True)
        subprocess.run([program, "ingest", "--data", data, "docs"], check=True, capture_output=True)
        text = record([program, "ask", "--data", data, QUESTION])
    prompt = [("$", "32")] + [(c, "1") for c in f' sluice ask "{QUESTION}"']
    lines = [prompt] + [piece for line in cells(text.rstrip("\n")) for piece in wrap(line)]
    os.makedirs("docs/images", exist_ok=True)
    with open("docs/images/ask.svg", "w", encoding="utf-8") as f:
        f.write(draw(lines))


if __name__ == "__main__":
    main()
