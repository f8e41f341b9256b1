import type { Source } from "../run/event.js";
import { element, render, textOf } from "./markdown.js";
import css from "./style.css?inline";
import { type Settings, Talk, type Turn } from "./talk.js";
import { type Texts, textsFor } from "./texts.js";

const icons = {
  chat: "M5 5h14v11h-8l-4 4v-4H5z", close: "M6 6l12 12M18 6L6 18", send: "M12 19V5M6 11l6-6 6 6", stop: "M7 7h10v10H7z", newChat: "M12 5v14M5 12h14",
};

function icon(name: keyof typeof icons, size = 20): SVGSVGElement {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  for (const [k, v] of Object.entries({ width: size, height: size, viewBox: "0 0 24 24", "aria-hidden": "true" })) svg.setAttribute(k, String(v));
  const path = document.createElementNS(ns, "path");
  path.setAttribute("d", icons[name]);
  svg.append(path);
  return svg;
}

let server = "";

/** Sets the server of elements without the attribute server. */
export function setServer(url: string): void {
  server = url;
}

/**
 * A chat about the documents of a collection: a button that opens a panel, or the panel alone with the attribute inline. Attributes: collection, key,
 * server, mode (agentic or direct), heading, language, theme (light or dark), inline.
 */
export class SluiceChat extends HTMLElement {
  #talk: Talk | undefined;
  #t!: Texts;
  #views = new Map<Turn, HTMLElement>();
  #stale = new Set<Turn>();
  #log!: HTMLElement;
  #panel!: HTMLElement;
  #status!: HTMLElement;
  #input!: HTMLTextAreaElement;
  #send!: HTMLButtonElement;
  #launch!: HTMLButtonElement;
  #dialog!: HTMLDialogElement;
  #restored = false;

  connectedCallback(): void {
    if (this.#talk) return; // it was moved
    const of = (name: string) => this.getAttribute(name) ?? "";
    const settings: Settings = { server: (of("server") || server).replace(/\/+$/, ""), key: of("key"), collection: of("collection"), mode: of("mode") };
    this.#t = textsFor([of("language"), this.closest("[lang]")?.getAttribute("lang"), ...navigator.languages]);
    this.#talk = new Talk(settings, (turn) => this.#changed(turn));
    this.#build(of("heading") || this.#t.title);
    if (this.hasAttribute("inline")) this.#restore();
  }

  disconnectedCallback(): void {
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.#talk?.close();
      this.#talk = undefined;
    });
  }

  /** Opens or closes the panel. */
  toggle(open = this.#panel.hidden): void {
    if (this.hasAttribute("inline")) return;
    this.#panel.hidden = !open;
    this.toggleAttribute("open", open);
    this.#launch.setAttribute("aria-expanded", String(open));
    this.#label(this.#launch, open ? this.#t.close : this.#t.open);
    this.#launch.replaceChildren(icon(open ? "close" : "chat", 24));
    if (open) {
      this.#restore();
      this.#input.focus();
    } else {
      this.#launch.focus();
    }
  }

  #restore(): void {
    if (this.#restored) return;
    this.#restored = true;
    for (const turn of this.#talk!.turns) this.#show(turn);
    void this.#talk!.restore();
  }

  #build(title: string): void {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet(); // permitted by any style-src, unlike an element with styles
    sheet.replaceSync(css);
    root.adoptedStyleSheets = [sheet];
    const inline = this.hasAttribute("inline");

    const heading = element("h2", title);
    heading.id = "title";
    const newChat = this.#button("icon", this.#t.newChat, icon("newChat"), () => this.#clear());
    const close = this.#button("icon", this.#t.close, icon("close"), () => this.toggle(false));
    close.hidden = inline;
    this.#log = element("div", this.#greeting());
    this.#log.className = "log";
    this.#log.tabIndex = 0;
    this.#status = element("p");
    this.#status.className = "hidden";
    this.#status.setAttribute("role", "status");

    const label = element("label", this.#t.placeholder);
    label.className = "hidden";
    label.htmlFor = "question";
    this.#input = element("textarea");
    Object.assign(this.#input, { id: "question", rows: 1, maxLength: 4000, placeholder: this.#t.placeholder });
    this.#input.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
        e.preventDefault();
        this.#submit();
      }
    });
    this.#send = this.#button("send", this.#t.send, icon("send"), () => (this.#talk?.busy ? void this.#talk.cancel() : this.#submit()));
    const form = element("form", label, this.#input, this.#send);
    form.addEventListener("submit", (e) => e.preventDefault());

    this.#panel = element("section", element("header", heading, newChat, close), this.#log, form, this.#status);
    this.#panel.className = "panel";
    this.#panel.id = "panel";
    this.#panel.setAttribute("aria-labelledby", "title");
    this.#panel.addEventListener("keydown", (e) => {
      if (e.key !== "Escape" || this.#dialog.open) return;
      if (this.#talk?.busy) void this.#talk.cancel();
      else this.toggle(false);
    });
    this.#panel.hidden = !inline;
    this.#dialog = element("dialog");
    this.#dialog.addEventListener("click", (e) => e.target === this.#dialog && this.#dialog.close());
    this.#launch = this.#button("launch", this.#t.open, icon("chat", 24), () => this.toggle());
    this.#launch.setAttribute("aria-expanded", "false");
    this.#launch.setAttribute("aria-controls", "panel");
    this.#launch.hidden = inline;
    root.replaceChildren(this.#panel, this.#launch, this.#dialog);
  }

  #button(className: string, label: string, content: Node | string, click: () => void): HTMLButtonElement {
    const b = element("button", content);
    b.type = "button";
    b.className = className;
    if (typeof content !== "string") this.#label(b, label);
    b.addEventListener("click", click);
    return b;
  }

  #label(b: HTMLElement, label: string): void {
    b.title = label;
    b.setAttribute("aria-label", label);
  }

  #greeting(): HTMLElement {
    const p = element("p", this.#t.greeting);
    p.className = "muted";
    return p;
  }

  #clear(): void {
    this.#talk?.clear();
    this.#views.clear();
    this.#log.replaceChildren(this.#greeting());
    this.#busy();
    this.#input.focus();
  }

  #submit(): void {
    const question = this.#input.value.trim();
    if (!question || !this.#talk || this.#talk.busy) return;
    this.#input.value = "";
    void this.#talk.ask(question);
    this.#show(this.#talk.turns.at(-1)!);
    this.#log.scrollTop = this.#log.scrollHeight;
  }

  // show adds the elements of a turn.
  #show(turn: Turn): void {
    if (!this.#views.size) this.#log.replaceChildren();
    if (this.#views.has(turn)) return;
    const question = element("p", turn.question);
    question.className = "question";
    question.dir = "auto";
    const view = element("div");
    view.className = "answer";
    this.#views.set(turn, view);
    this.#log.append(question, view);
    this.#draw(turn);
  }

  // changed draws a turn before the next frame of the screen.
  #changed(turn: Turn): void {
    if (!this.#talk?.turns.includes(turn)) return;
    if (!this.#stale.size) requestAnimationFrame(() => {
      for (const t of this.#stale) this.#draw(t);
      this.#stale.clear();
    });
    this.#stale.add(turn);
  }

  #busy(): void {
    const busy = this.#talk?.busy ?? false;
    this.#send.replaceChildren(icon(busy ? "stop" : "send"));
    this.#label(this.#send, busy ? this.#t.stop : this.#t.send);
    this.#log.setAttribute("aria-busy", String(busy));
  }

  #draw(turn: Turn): void {
    const view = this.#views.get(turn);
    if (!view) return;
    const { state } = turn;
    const atEnd = this.#log.scrollHeight - this.#log.scrollTop - this.#log.clientHeight < 60;
    const nodes: Node[] = [];
    const note = (text: string, className: string) => {
      const p = element("p", text);
      p.className = className;
      nodes.push(p);
    };
    if (state?.pieces.length) {
      const body = element("div");
      body.append(render(textOf(state.pieces), (n) => this.#cite(n, turn)));
      for (const e of body.children) e.setAttribute("dir", "auto");
      nodes.push(body);
    } else if (!turn.problem && (!state || state.status === "running")) {
      note(this.#t.searching, "muted waiting");
    }
    const ended = state && state.status !== "running";
    if (ended && (state.flagged || (state.status === "finished" && state.confidence !== undefined && !state.sources.some((s) => s.cited) && !state.cached && state.steps.length > 1))) note(this.#t.unsupported, "notice");
    if (state?.status === "cancelled") note(this.#t.stopped, "muted");
    const cited = state?.sources.filter((s) => s.cited) ?? [];
    if (ended && cited.length) nodes.push(this.#sources(cited));
    if (turn.problem || state?.status === "failed") {
      note(this.#t[turn.problem ?? "failed"], "notice");
      if (turn.problem !== "refused") nodes.push(this.#button("again", "", this.#t.again, () => void this.#talk?.again(turn)));
    }
    view.replaceChildren(...nodes);
    if (atEnd) this.#log.scrollTop = this.#log.scrollHeight;
    this.#busy();
    if (turn === this.#talk?.turns.at(-1)) {
      const text = turn.problem ? this.#t[turn.problem] : ended ? this.#t.ready : this.#t.searching;
      if (this.#status.textContent !== text) this.#status.textContent = text;
    }
  }

  #cite(n: number, turn: Turn): Node {
    const b = this.#button("cite", "", String(n), () => {
      const source = turn.state?.sources.find((s) => s.n === n);
      if (source) this.#open(source);
    });
    b.setAttribute("aria-label", this.#t.source.replace("{n}", String(n)));
    return b;
  }

  #sources(cited: Source[]): HTMLElement {
    const list = element("ul", ...cited.map((s) => element("li", this.#button("", "", `${s.n} · ${s.title || s.name || s.file || ""}`, () => this.#open(s)))));
    list.className = "sources";
    list.setAttribute("aria-label", this.#t.sources);
    return list;
  }

  // open shows the passage of a source with the cited sentence marked.
  #open(s: Source): void {
    const title = element("h2", s.title || s.name || this.#t.source.replace("{n}", String(s.n)));
    title.id = "source";
    this.#dialog.setAttribute("aria-labelledby", "source");
    const where = [s.heading !== s.title ? s.heading : "", s.pages?.length ? this.#t.page.replace("{n}", s.pages.join(", ")) : "", s.name !== s.title ? s.name : ""].filter(Boolean).join(" · ");
    const place = element("p", where);
    place.className = "muted";
    const bytes = new TextEncoder().encode(s.text); // the quote is given in bytes
    const part = (from: number, to?: number) => new TextDecoder().decode(bytes.subarray(from, to));
    const [from, to] = [s.quote ?? 0, s.quote_end ?? 0];
    const quote = to > from ? element("blockquote", part(0, from), element("mark", part(from, to)), part(to)) : element("blockquote", s.text);
    quote.dir = "auto";
    const body = element("div", place, quote);
    body.className = "body";
    this.#dialog.replaceChildren(element("header", title, this.#button("icon", this.#t.back, icon("close"), () => this.#dialog.close())), body);
    this.#dialog.showModal();
  }
}
