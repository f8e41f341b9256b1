import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import assert from "node:assert/strict";

export const env = JSON.parse(process.env.SLUICE_E2E);
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The question that the documents of the servers answer, and the one that they do not. */
export const question = "What does a ship pay?";
export const unanswerable = "How many moons does Jupiter have?";

const servers = new Set([env.main, env.empty, env.fresh, env.library, env.keyed, env.fragile, env.federated, env.sourced, env.provider, env.synthetic]);

/** What a scenario uses: pages that are watched, the scripted model, and the servers. */
export class Stage {
  faults = [];
  console = [];
  note = "";
  #contexts = [];
  #pages = [];

  constructor(browser, name) {
    this.browser = browser;
    this.name = name;
  }

  /** Opens a browser of its own, with no cookies and nothing stored. */
  async context(options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-US", ...options });
    context.setDefaultTimeout(12_000);
    await context.exposeBinding("sluiceViolation", (_, text) => this.faults.push(`security policy: ${text}`));
    await context.addInitScript(() => addEventListener("securitypolicyviolation", (e) => globalThis.sluiceViolation(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`)));
    this.#contexts.push(context);
    return context;
  }

  /** Opens a page. Faults of the page are faults of the scenario. */
  async page(url, { context, ...options } = {}) {
    const page = await (context ?? (await this.context(options))).newPage();
    let { origin } = new URL(url);
    page.on("pageerror", (err) => this.faults.push(`page error: ${err.stack ?? err}`));
    page.on("console", (m) => this.console.push(`${m.type()}: ${m.text()}`));
    page.on("request", (r) => {
      const to = new URL(r.url()).origin;
      if (r.isNavigationRequest() && servers.has(to)) origin = to; // the scenario goes to another of its servers
      if (!r.url().startsWith(origin + "/") && !/^(blob|data|about):/.test(r.url())) this.faults.push(`request to another server: ${r.url()}`);
    });
    page.on("dialog", (d) => {
      this.faults.push(`dialog: ${d.message()}`);
      void d.dismiss();
    });
    page.on("popup", (p) => this.faults.push(`window: ${p.url()}`));
    this.#pages.push(page);
    await page.goto(url);
    return page;
  }

  /** Opens the page of a server and asks a question. */
  async asked(url, text, options = {}) {
    const page = await this.page(url, options);
    await ask(page, text);
    return page;
  }

  async #call(path, body = "") {
    const res = await fetch(env.control + path, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) });
    assert.ok(res.ok, await res.text());
  }

  /** Sets what the model writes for questions with a text: pieces, milliseconds between them, and the piece before which it waits for a release. */
  script = (match, pieces, o = {}) => this.#call("/script", { match, pieces, ...o });
  release = (match) => this.#call("/release", match);
  /** Sets the events of a made-up run. */
  run = (run, events, o = {}) => this.#call("/run", { run, events, ...o });
  kill = () => this.#call("/kill");
  start = () => this.#call("/start");

  async screenshot() {
    const page = this.#pages.findLast((p) => !p.isClosed());
    if (!page) return "";
    const path = `${env.screenshots}/${this.name.replace(/\W+/g, "-")}.png`;
    return page.screenshot({ path, timeout: 5000 }).then(() => path, (err) => String(err));
  }

  async close() {
    for (const c of this.#contexts) await c.close().catch(() => {});
  }
}

export async function ask(page, text) {
  await page.getByLabel("Question", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
}

/** Waits until the last answer is complete. */
export async function answered(page, n = 1) {
  await page.getByText("Total", { exact: true }).nth(n - 1).waitFor();
  await page.getByRole("button", { name: "Copy link" }).nth(n - 1).waitFor();
}

/** Fails if axe finds something serious. */
export async function axe(page, state, rules) {
  await page.evaluate(axeSource);
  const found = await page.evaluate(async (rules) => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"], ...(rules && { runOnly: rules }) });
    return violations.filter((v) => v.impact === "serious" || v.impact === "critical")
      .map((v) => `${v.id} (${v.impact}): ${v.help}\n${v.nodes.slice(0, 4).map((n) => `    ${n.html.slice(0, 200)}\n    ${n.failureSummary}`).join("\n")}`);
  }, rules);
  assert.deepEqual(found, [], `axe, ${state}:\n${found.join("\n")}`);
  await distinct(page, state);
}

const controls = new Set(["button", "textbox", "searchbox", "combobox", "checkbox", "radio", "spinbutton", "switch"]);

/** Fails if a screen reader reads two fields or buttons of one section with the same name, or one without a name. */
export async function distinct(page, state) {
  const client = await page.context().newCDPSession(page);
  const { nodes } = await client.send("Accessibility.getFullAXTree");
  await client.detach();
  const byId = new Map(nodes.map((n) => [n.nodeId, n]));
  const named = new Set(["article", "region", "Date", "DateTime"]); // a turn, a section with a name, a field that the browser makes of several
  const within = (n) => (!n || named.has(n.role?.value) ? (n?.nodeId ?? "") : within(byId.get(n.parentId)));
  const seen = new Map();
  for (const n of nodes) {
    if (n.ignored || !controls.has(n.role?.value)) continue;
    const key = `${n.name?.value ?? ""} ${within(n)}`;
    seen.set(key, [...(seen.get(key) ?? []), `${n.role.value} ${JSON.stringify(n.name?.value ?? "")}`]);
  }
  const faults = [...seen.entries()].flatMap(([key, same]) => (same.length > 1 || key.startsWith(" ") ? [same.join(", ")] : []));
  assert.deepEqual(faults, [], `names, ${state}`);
}

/** Fails if something is wider than the window. */
export async function fits(page, state) {
  const wide = await page.evaluate(() => {
    const inScroller = (e) => {
      for (let p = e.parentElement; p; p = p.parentElement) if (/auto|scroll|hidden|clip/.test(getComputedStyle(p).overflowX)) return true;
      return false;
    };
    return [...document.querySelectorAll("body *")].filter((e) => {
      const r = e.getBoundingClientRect();
      return r.width > 0 && r.right > innerWidth + 1 && r.left < innerWidth && getComputedStyle(e).visibility !== "hidden" && !inScroller(e);
    }).map((e) => `${e.outerHTML.slice(0, 120)} … to ${Math.round(e.getBoundingClientRect().right)} of ${innerWidth}`).slice(0, 5);
  });
  assert.deepEqual(wide, [], state);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${state}: the page scrolls sideways`);
}

let clipboard = Promise.resolve();

/** Does work with the clipboard, which all pages of the browser share, while no other scenario uses it. */
export function withClipboard(work) {
  const done = clipboard.then(work);
  clipboard = done.catch(() => {});
  return done;
}

/** Presses a button that copies something, and waits until it says so, which it does for a moment. */
export const copy = (page) => Promise.all([page.getByRole("button", { name: "Copied", exact: true }).waitFor(), page.getByRole("button", { name: "Copy", exact: true }).click()]);

/** Waits until what is read equals what is wanted: a page may show a change after the call that made it has returned. */
export async function equals(read, want, message) {
  for (const end = Date.now() + 12_000; ; ) {
    try {
      return assert.deepEqual(await read(), want, message);
    } catch (err) {
      if (Date.now() > end) throw err;
      await new Promise((resume) => setTimeout(resume, 50));
    }
  }
}

/** Waits until a condition holds in the page. */
export const until = (page, condition, arg) => page.waitForFunction(condition, arg, { timeout: 12_000 });
