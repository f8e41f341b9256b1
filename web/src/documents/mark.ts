/** Marks a quote in the text below an element, and returns the first mark. Only letters and digits are compared, so the way the text is set does not matter. */
export function markQuote(root: HTMLElement, quote: string): HTMLElement | undefined {
  const wanted = [...letters(quote)].map((c) => c.char).join("");
  if (wanted.length < 8) return undefined;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes: Text[] = [];
  let all = "";
  const places: { node: number; at: number }[] = [];
  while (walker.nextNode()) {
    const node = walker.currentNode as Text;
    for (const c of letters(node.data)) {
      all += c.char;
      for (let i = 0; i < c.char.length; i++) places.push({ node: nodes.length, at: c.at });
    }
    nodes.push(node);
  }
  const from = all.indexOf(wanted);
  if (from < 0) return undefined;
  const [first, last] = [places[from]!, places[from + wanted.length - 1]!];
  let mark: HTMLElement | undefined;
  for (let n = last.node; n >= first.node; n--) {
    const node = nodes[n]!;
    const start = n === first.node ? first.at : 0;
    let end = n === last.node ? last.at + 1 : node.length;
    if (n === last.node && /[.!?…]/.test(node.data[end] ?? "")) end++; // the sentence with its mark
    if (!node.data.slice(start, end).trim()) continue;
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, end);
    mark = document.createElement("mark");
    range.surroundContents(mark);
  }
  return mark;
}

function* letters(text: string): Generator<{ char: string; at: number }> {
  let at = 0;
  for (const c of text) {
    if (/[\p{L}\p{N}]/u.test(c)) yield { char: c.normalize("NFKC").toLowerCase(), at };
    at += c.length;
  }
}
