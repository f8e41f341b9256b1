import DOMPurify from "dompurify";
import { Marked } from "marked";
import type { Piece } from "../run/state.js";

// A citation is a private character in the Markdown, so that no text of a model or a document can be taken for one.
const firstMark = 0xf0000; // of a private plane; source n has the character firstMark + n
const lastMark = 0xffffd;

/** Returns the Markdown of an answer, with a private character for each citation. */
export function markdownOf(pieces: readonly Piece[]): string {
  let out = "";
  for (const p of pieces) out += "text" in p ? p.text.replace(/[\u{f0000}-\u{ffffd}]/gu, "") : String.fromCodePoint(Math.min(firstMark + p.cite, lastMark));
  return out;
}

/** Divides Markdown into blocks at empty lines outside of code. All but the last one stay as they are while text is appended. */
export function blocksOf(markdown: string): string[] {
  const blocks: string[] = [];
  let block = "";
  let fence = "";
  for (const line of markdown.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? (/^ {0,3}\$\$/.test(line) && !/\$\$.*\$\$/.test(line) ? "$$" : "");
    if (mark) {
      if (!fence) fence = mark;
      else if (mark.startsWith(fence)) fence = "";
    }
    // A list or an indented line continues the block before it.
    if (!fence && line.trim() === "" && block.trim() !== "" && !/(^|\n) {0,3}([-*+]|\d+[.)]) .*$/.test(block)) {
      blocks.push(block);
      block = "";
    } else {
      block += line + "\n";
    }
  }
  if (block.trim() !== "") blocks.push(block);
  return blocks;
}

// HTML in Markdown is shown as text, except for tags that models write in tables and formulas. So nothing of it is parsed as HTML.
const plainTag = /^<(\/?(?:b|i|em|strong|sub|sup|del|code)|br\s*\/?)>$/i;
const escape = (s: string) => s.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const marked = new Marked({ gfm: true, breaks: false, async: false });
marked.use({ renderer: { html: ({ text }) => (plainTag.test(text.trim()) ? text : escape(text)) } });

// The elements of Markdown. Images would show other servers that the answer is being read.
const allowed = {
  ALLOWED_TAGS: [
    "p", "br", "hr", "b", "i", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "del", "a", "table", "thead", "tbody",
    "tr", "th", "td", "sub", "sup", "input",
  ],
  ALLOWED_ATTR: ["href", "class", "start", "align", "type", "checked", "disabled"],
  ALLOW_DATA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  RETURN_DOM_FRAGMENT: true as const,
};

/** Renders a block of Markdown. Citations become buttons with the number of their source in data-source. */
export function render(markdown: string, labelOf: (n: number) => string): DocumentFragment {
  const fragment = DOMPurify.sanitize(marked.parse(markdown) as string, allowed);
  for (const a of fragment.querySelectorAll("a[href]")) {
    a.setAttribute("target", "_blank");
    a.setAttribute("rel", "noopener noreferrer nofollow");
  }
  for (const e of fragment.querySelectorAll("[class]")) if (!/^language-[\w+#-]+$/.test(e.className)) e.removeAttribute("class"); // classes of the page
  for (const input of fragment.querySelectorAll("input")) if (input.getAttribute("type") !== "checkbox") input.remove();
  for (const table of fragment.querySelectorAll("table")) {
    const scroller = document.createElement("div");
    scroller.className = "scroll";
    scroller.tabIndex = 0;
    table.replaceWith(scroller);
    scroller.append(table);
  }
  cite(fragment, labelOf);
  for (const e of fragment.children) e.setAttribute("dir", "auto"); // Arabic and Hebrew run from right to left
  return fragment;
}

// cite replaces the private characters by buttons.
function cite(fragment: DocumentFragment, labelOf: (n: number) => string): void {
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  for (const text of texts) {
    const parts = text.data.split(/([\u{f0000}-\u{ffffd}])/u);
    if (parts.length === 1) continue;
    const nodes: (string | Node)[] = [];
    for (const part of parts) {
      const n = (part.codePointAt(0) ?? 0) - firstMark;
      if (n < 0) nodes.push(part);
      else nodes.push("\u2060", mark(n, labelOf(n))); // no line begins with a citation
    }
    text.replaceWith(...nodes);
  }
}

function mark(n: number, label: string): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "citation";
  button.dataset["source"] = String(n);
  button.setAttribute("aria-label", label);
  button.textContent = String(n);
  return button;
}
