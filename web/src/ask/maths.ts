import katex from "katex";

// TeX between $…$ on one line, $$…$$, \(…\) or \[…\]. A price such as $5 and $6 is none: a formula does not begin or end with a space, and no digit follows it.
const formula = /\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\]|\\\(([\s\S]+?)\\\)|\$(?! )([^$\n]+?)(?<! )\$(?!\d)/g;

/** Replaces TeX formulas in the text of an element by MathML, which needs no styles. Code is left alone. */
export function setFormulas(node: HTMLElement): void {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT, (n) =>
    n.parentElement?.closest("code, pre, math") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
  const texts: Text[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  for (const text of texts) replace(text);
}

function replace(text: Text): void {
  const nodes: (string | Node)[] = [];
  let end = 0;
  for (const m of text.data.matchAll(formula)) {
    const display = m[1] ?? m[2];
    const span = document.createElement("span");
    try {
      katex.render(display ?? m[3] ?? m[4] ?? "", span, { output: "mathml", displayMode: display !== undefined, maxSize: 20, maxExpand: 200, trust: false });
    } catch {
      continue; // not TeX
    }
    nodes.push(text.data.slice(end, m.index), span);
    end = m.index + m[0].length;
  }
  if (end > 0) text.replaceWith(...nodes, text.data.slice(end));
}
