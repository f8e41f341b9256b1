/** A part of a passage as it is shown. */
export type Block = { kind: "text"; text: string } | { kind: "code"; text: string } | { kind: "table"; rows: string[][] };

/** Divides the text of a passage into paragraphs, code and tables. The headings that it begins with are left out: they are shown above it. */
export function blocksOf(text: string, headings: readonly string[]): Block[] {
  const lines = text.split("\n");
  while (lines.length && (lines[0]!.trim() === "" || headings.includes(lines[0]!.trim()))) lines.shift();
  const out: Block[] = [];
  let block: string[] = [];
  let fence = "";
  const end = () => {
    if (block.length) out.push(plain(block));
    block = [];
  };
  for (const line of lines) {
    const mark = /^(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    if (fence && mark.startsWith(fence)) {
      out.push({ kind: "code", text: block.join("\n") });
      block = [];
      fence = "";
    } else if (!fence && mark) {
      end();
      fence = mark;
    } else if (!fence && line.trim() === "") {
      end();
    } else {
      block.push(line);
    }
  }
  if (fence) out.push({ kind: "code", text: block.join("\n") });
  else end();
  return out;
}

function plain(lines: string[]): Block {
  const rows = lines.map((line) => line.replace(/^\|\s*|\s*\|$/g, "").split(/ \| /));
  return lines.length > 1 && rows.every((r) => r.length > 1) ? { kind: "table", rows } : { kind: "text", text: lines.join("\n") };
}
