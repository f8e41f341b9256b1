#!/usr/bin/env python3
"""Draws docs/images/ask.svg and docs/images/chat.svg: the output of `sluice ask` and `sluice chat` on a terminal, for questions about docs.

    python3 scripts/picture.py [ask] [chat]

It needs Go, and tmux for chat. The text and the colours are the output of the programs. Long lines are wrapped.
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
import time

QUESTION = "What is a cursor, what is grace, and how do I cancel a run?"
COLUMNS = 100
CHAR, LINE, PAD, BAR = 8.4, 20, 20, 34
COLOURS = {"": "#d7dde5", "1": "#ffffff", "2": "#8b95a3", "31": "#ff7b72", "32": "#7ee2a8", "33": "#f2c14e", "34": "#79b8ff", "36": "#76e3ea", "7": "#d7dde5"}
TALK = ("What is a cursor?", "Where is it written?", "/sources")
SGR = re.compile(r"\x1b\[([0-9;]*)m")
SHOWN = "\x1b[?25h"  # shows the cursor: the text after it is permanent


def record(command):
    """Runs a command on a pseudo-terminal with COLUMNS columns and returns its permanent output."""
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
        pass  # the process has closed the terminal
    text = b"".join(parts).decode().replace("\r", "")
    if running.wait() != 0:
        raise SystemExit("the command failed:\n" + text)
    text = text[text.rfind(SHOWN) + len(SHOWN) if SHOWN in text else 0 :]  # skip the live panel
    sys.stdout.write(text)
    return text


def cells(text):
    """Returns lines of (character, style). If several styles are set, the last one is used."""
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
    """Wraps a line to the width of the terminal."""
    while len(line) > COLUMNS:
        cut = max((i for i in range(COLUMNS) if line[i][0] == " "), default=COLUMNS)
        yield line[:cut]
        line = line[cut + 1 :]
    yield line


def simple(style):
    """Returns the most significant of several styles."""
    codes = [c for c in style.replace(";", " ").split() if c in COLOURS]
    return next((c for c in codes if c in ("7", "31", "32", "33", "36", "2")), codes[0] if codes else "")


def converse(program, data):
    """Runs a chat in tmux and returns the final screen."""
    with tempfile.TemporaryDirectory() as tmp:

        def tmux(*args):
            return subprocess.run(["tmux", "-S", os.path.join(tmp, "s"), *args], check=True, capture_output=True, text=True).stdout

        def until(text):
            for _ in range(300):
                shown = tmux("capture-pane", "-p", "-t", "s")
                if text in shown:
                    return
                time.sleep(0.1)
            raise SystemExit(f"the terminal did not show {text!r}:\n{shown}")

        os.environ.pop("NO_COLOR", None)
        tmux("-f", "/dev/null", "new-session", "-d", "-s", "s", "-x", str(COLUMNS), "-y", "40", f"'{program}' chat --data '{data}'")
        try:
            until("● 127.0.0.1")
            for line in TALK:
                tmux("send-keys", "-t", "s", "-l", line)
                tmux("send-keys", "-t", "s", "Enter")
                until("› " + line)
                until("› ask a question")
                time.sleep(1)
            tmux("send-keys", "-t", "s", "-l", "/u")
            tmux("send-keys", "-t", "s", "Tab")
            until("/upload  /use")
            return re.sub(r":\d{5}\b", ":8000", tmux("capture-pane", "-p", "-e", "-t", "s")).rstrip()
        finally:
            tmux("kill-server")


def styled(text):
    """Returns lines of (character, style) for a text whose control sequences accumulate."""
    lines, on, at = [[]], [], 0
    for m in list(SGR.finditer(text)) + [None]:
        for c in text[at : m.start() if m else len(text)]:
            if c == "\n":
                lines.append([])
            else:
                lines[-1].append((c, simple(";".join(on))))
        if m:
            at = m.end()
            for code in (m[1] or "0").split(";"):
                on = [] if code == "0" else [c for c in on if not (code == "39" and c[0] == "3")] + [code]
    return lines


def draw(lines, title):
    width, height = COLUMNS * CHAR + 2 * PAD, BAR + len(lines) * LINE + PAD
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" role="img">',
        f"<title>{html.escape(title)}</title>",
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
            if line[at][1] == "7":
                out.append(f'<rect x="{PAD + at * CHAR:.1f}" y="{BAR + row * LINE + 2}" width="{len(text) * CHAR:.1f}" height="{LINE - 3}" fill="#d7dde5"/>')
            elif text.strip():
                bold = ' font-weight="bold"' if line[at][1] == "1" else ""
                out.append(
                    f'<text x="{PAD + at * CHAR:.1f}" y="{BAR + (row + 1) * LINE - 5}" textLength="{len(text) * CHAR:.1f}" '
                    f'fill="{COLOURS[line[at][1]]}"{bold}>{html.escape(text)}</text>'
                )
            at = end
    return "\n".join(out + ["</g>", "</svg>", ""])


def ask(program, data):
    text = record([program, "ask", "--data", data, QUESTION])
    prompt = [("$", "32")] + [(c, "1") for c in f' sluice ask "{QUESTION}"']
    lines = [prompt] + [piece for line in cells(text.rstrip("\n")) for piece in wrap(line)]
    return draw(lines, "sluice ask: " + QUESTION)


def chat(program, data):
    prompt = [("$", "32")] + [(c, "1") for c in " sluice chat"]
    return draw([prompt] + styled(converse(program, data)), "sluice chat")


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    with tempfile.TemporaryDirectory() as tmp:
        program, data = os.path.join(tmp, "sluice"), os.path.join(tmp, "data")
        subprocess.run(["go", "build", "-o", program, "./cmd/sluice"], check=True)
        subprocess.run([program, "ingest", "--data", data, "docs"], check=True, capture_output=True)
        os.makedirs("docs/images", exist_ok=True)
        for name, picture in (("ask", ask), ("chat", chat)):
            if name in (sys.argv[1:] or [name]):
                with open(f"docs/images/{name}.svg", "w", encoding="utf-8") as f:
                    f.write(picture(program, data))


if __name__ == "__main__":
    main()
