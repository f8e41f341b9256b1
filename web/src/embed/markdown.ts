import type { Piece } from "../run/state.js";

// A citation is a private character in the text, so that no text of a model or a document can be taken for one.
const first = 0xf0000;

/** Returns the text of an answer with a private character for each citation. */
export function textOf(pieces: readonly Piece[]): string {
  return pieces.map((p) => ("text" in p ? p.text.replace(/[\u{f0000}-\u{ffffd}]/gu, "") : String.fromCodePoint(Math.min(first + p.cite, 0xffffd)))).join("");
}

type Cite = (n: number) => Node;

/**
 * Renders the Markdown that answers have: paragraphs, headings, lists, quotes, code, tables, emphasis and links. It creates elements and never parses
 * HTML, so the text cannot add any, and pages that require Trusted Types can use it.
 */
export function render(markdown: string, cite: Cite): DocumentFragment {
  const out = document.createDocumentFragment();
  const lines = markdown.split("\n");
  const inline = (text: string) => spans(text, cite);
  for (let i = 0; i < lines.length; ) {
    const line = lines[i]!;
    const fence = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (fence) {
      const end = lines.findIndex((l, j) => j > i && l.trim().startsWith(fence));
      const code = lines.slice(i + 1, end < 0 ? undefined : end).join("\n");
      out.append(element("pre", element("code", code)));
      i = end < 0 ? lines.length : end + 1;
    } else if (!line.trim()) {
      i++;
    } else if (/^#{1,6}\s/.test(line)) {
      out.append(element("h4", ...inline(line.replace(/^#+\s+/, ""))));
      i++;
    } else if (item.test(line)) {
      const list = element(/^\s*\d/.test(line) ? "ol" : "ul");
      if (list instanceof HTMLOListElement) list.start = parseInt(line.trim(), 10);
      for (; i < lines.length && (item.test(lines[i]!) || (/^\s+\S/.test(lines[i]!) && list.lastChild)); i++) {
        const text = lines[i]!;
        if (item.test(text)) list.append(element("li", ...inline(text.replace(item, ""))));
        else (list.lastChild as Element).append(" ", ...inline(text.trim()));
      }
      out.append(list);
    } else if (line.startsWith(">")) {
      const from = i;
      while (lines[i]?.startsWith(">")) i++;
      const quote = element("blockquote");
      quote.append(render(lines.slice(from, i).map((l) => l.replace(/^>\s?/, "")).join("\n"), cite));
      out.append(quote);
    } else if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\||$)/.test(lines[i + 1] ?? "")) {
      const cells = (l: string) => l.trim().replace(/^\||\|$/g, "").split("|");
      const row = (l: string, kind: "th" | "td") => element("tr", ...cells(l).map((c) => element(kind, ...inline(c.trim()))));
      const table = element("table", row(line, "th"));
      for (i += 2; lines[i]?.includes("|"); i++) table.append(row(lines[i]!, "td"));
      out.append(element("div", table));
    } else {
      const from = i++;
      while (i < lines.length && lines[i]!.trim() && !/^(\s*(```|~~~)|#{1,6}\s|>)/.test(lines[i]!) && !item.test(lines[i]!)) i++;
      out.append(element("p", ...inline(lines.slice(from, i).join("\n"))));
    }
  }
  return out;
}

const item = /^\s*(?:[-*+]|\d{1,9}[.)])\s+/;
const span = /(`+)([^`]+?)\1|\*\*(?=\S)([\s\S]+?)\*\*|(?<!\w)[*_](?=\S)([^*_]+?)[*_](?!\w)|\[([^\]\n]+)\]\(([^\s)]+)\)|(https?:\/\/[^\s<>()]+[^\s<>().,;:!?])|([\u{f0000}-\u{ffffd}])/gu;

function spans(text: string, cite: Cite): (Node | string)[] {
  const out: (Node | string)[] = [];
  let end = 0;
  for (const m of text.matchAll(span)) {
    out.push(text.slice(end, m.index));
    end = m.index + m[0].length;
    if (m[2] !== undefined) out.push(element("code", m[2]));
    else if (m[3] !== undefined) out.push(element("strong", ...spans(m[3], cite)));
    else if (m[4] !== undefined) out.push(element("em", ...spans(m[4], cite)));
    else if (m[5] !== undefined) out.push(link(m[6]!, spans(m[5], cite)));
    else if (m[7] !== undefined) out.push(link(m[7], [m[7]]));
    else out.push(cite(m[8]!.codePointAt(0)! - first));
  }
  out.push(text.slice(end));
  return out;
}

// link returns a link to an address of the web, or the text alone for any other address.
function link(href: string, content: (Node | string)[]): Node {
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return element("span", ...content);
  const a = element("a", ...content);
  a.href = href;
  a.target = "_blank";
  a.rel = "noopener noreferrer nofollow";
  return a;
}

/** Creates an element with a content. */
export function element<K extends keyof HTMLElementTagNameMap>(name: K, ...content: (Node | string)[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(name);
  e.append(...content);
  return e;
}
