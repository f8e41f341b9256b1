// axe finds nothing serious or critical on the pages and in their states. The dark appearance differs only in its colours.
import { mkdirSync, writeFileSync } from "node:fs";
import { answered, axe, env, unanswerable } from "./stage.mjs";
import { events } from "./events.mjs";

const both = (name, run) => ({ [`axe: ${name}`]: (t) => run(t, {}, undefined), [`axe: ${name}, dark`]: (t) => run(t, { colorScheme: "dark" }, ["color-contrast"]) });

export default {
  ...both("asking", async (t, options, rules) => {
    const q = `What does a ship pay in axe ${rules}?`;
    await t.script(q, ["It pays **12 euros** ", "for each metre ⟦1⟧."], { hold: 1 });
    const page = await t.page(env.main, options);
    await page.getByRole("heading", { name: "What would you like to know?" }).waitFor();
    await page.getByRole("button", { name: "Options" }).click();
    await axe(page, "start", rules);
    await page.getByRole("button", { name: /^Filter/ }).click();
    await page.getByLabel("Author").fill("Ada");
    await axe(page, "filter", rules);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Remove the filter: Author: Ada" }).waitFor();
    await axe(page, "chips of a filter", rules);
    await page.getByRole("button", { name: "Remove the filter: Author: Ada" }).click();
    await page.getByLabel("Question", { exact: true }).fill(q);
    await page.keyboard.press("Enter");
    await page.getByText("12 euros").first().waitFor();
    await axe(page, "streaming", rules);
    await t.release(q);
    await answered(page);
    await page.getByRole("button", { name: "Bad answer" }).click();
    await page.getByLabel("What was wrong?").waitFor();
    await axe(page, "answer", rules);
    await page.getByRole("button", { name: "Source 1" }).first().click();
    await page.getByRole("dialog").waitFor();
    await axe(page, "source", rules);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Edit the question" }).click();
    await axe(page, "editing", rules);
  }),

  ...both("notices and details", async (t, options, rules) => {
    let page = await t.asked(env.main, unanswerable, options);
    await answered(page);
    await axe(page, "no answer", rules);
    const code = "## A heading\n\n|a|b|\n|-|-|\n|1|2|\n\n```go\nfunc main() { x := \"text\" // 5\n}\n```\n\n$x^2$\n\n- [ ] task\n\n> quote [link](https://example.org)\n";
    const run = `run_axe_${rules ? "dark" : "light"}`;
    await t.run(run, events(run, { steps: 14, tokens: [code], reasoning: "thinking" }));
    page = await t.page(`${env.synthetic}/runs/${run}`, options);
    await page.getByText("Total", { exact: true }).waitFor();
    for (const d of await page.locator("article details:not([open]) > summary").all()) if (await d.isVisible()) await d.click();
    await axe(page, "all steps", rules);
  }),

  ...both("pages", async (t, options, rules) => {
    let page = await t.page(env.main, options);
    for (const [path, name] of [["/documents", "documents"], ["/runs/run_none", "unknown run"], ["/documents/none", "unknown document"], ["/sources", "sources"], ["/admin", "administration"], ["/compare", "compare"]]) {
      await page.goto(env.main + path);
      await page.locator("main").locator("h1, [role=alert]").first().waitFor();
      await axe(page, name, rules);
    }
    page = await t.page(env.empty, options);
    await page.locator("h1").waitFor();
    await axe(page, "without documents", rules);
    page = await t.page(env.keyed, options);
    await page.getByLabel("API key").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await axe(page, "login", rules);
  }),

  ...both("documents", async (t, options, rules) => {
    const page = await t.page(`${env.library}/documents`, options);
    const name = `buoy ${rules ? "dark" : "light"}.md`;
    await page.locator("input[type=file]").first().setInputFiles([{ name, mimeType: "text/markdown", buffer: Buffer.from(`# Buoys in ${name}\n\n## Colours\n\nA green buoy is on the right.\n\n| buoy | side |\n| --- | --- |\n| red | left |\n`) }]);
    await page.getByText("1 document is ready").waitFor();
    await axe(page, "after an upload", rules);
    await page.getByRole("button", { name: `Edit: ${name}` }).click();
    await page.getByRole("dialog").getByLabel("Title").waitFor();
    await axe(page, "edit a document", rules);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "New collection" }).click();
    await page.getByRole("dialog").waitFor();
    await axe(page, "new collection", rules);
    await page.keyboard.press("Escape");
    await page.getByRole("searchbox", { name: "Search by name or title" }).fill(name);
    await page.getByText("1 to 1 of 1").waitFor();
    await page.locator("td").getByRole("link").click();
    await page.locator("article section").first().waitFor();
    await page.getByRole("button", { name: "Show the passages" }).click();
    await axe(page, "document", rules);
  }),

  ...both("sources", async (t, options, rules) => {
    const queued = { timeout: 60_000 }; // behind the syncs of other scenarios
    const dir = `${env.places}/axe ${rules ? "dark" : "light"}`;
    mkdirSync(dir);
    writeFileSync(`${dir}/cable.pdf`, "%PDF-1.7 and nothing else");
    const page = await t.page(`${env.sourced}/sources`, options);
    await page.getByLabel("API key").fill(env.keeper);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Add a source" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Path").fill("relative");
    await dialog.getByText("Collection, contributor and metadata").click();
    await dialog.getByRole("button", { name: "Add a source" }).click();
    await dialog.getByText("want the absolute path").waitFor();
    await axe(page, "add a source", rules);
    await dialog.getByLabel("Path").fill(dir);
    await dialog.getByRole("button", { name: "Add a source" }).click();
    await page.getByRole("article", { name: dir }).getByText("1 document could not be read").waitFor(queued);
    await axe(page, "sources with a failure", rules);
    await page.getByRole("button", { name: `Remove: ${dir}` }).click();
    await axe(page, "remove a source", rules);
    await dialog.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByRole("article", { name: dir }).waitFor({ state: "detached", ...queued });
  }),

  ...both("administration", async (t, options, rules) => {
    let page = await t.page(`${env.keyed}/admin`, options);
    await page.getByLabel("API key").fill(env.operator);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: /^End key: / }).first().waitFor();
    await axe(page, "administration with keys", rules);
    await page.getByRole("button", { name: "Add a key" }).click();
    await page.getByRole("dialog").waitFor();
    await axe(page, "add a key", rules);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Replace secret: / }).first().click();
    await page.getByRole("dialog").waitFor();
    await axe(page, "rotate a key", rules);
    page = await t.page(env.federated, options);
    await page.getByRole("link", { name: "Sign in with Example" }).waitFor();
    await axe(page, "login at a provider", rules);
  }),

  ...both("shared answer and versions", async (t, options, rules) => {
    const q = `What does a ship pay to axe ${rules ? "in the dark" : "in the light"}?`;
    let page = await t.asked(env.main, q, options);
    await answered(page);
    await page.getByRole("button", { name: "Ask again" }).click();
    await page.getByText("2 of 2").waitFor();
    await page.getByLabel("Question", { exact: true }).fill(`${q} And a boat?`);
    await page.keyboard.press("Enter");
    await answered(page, 2);
    await axe(page, "conversation", rules);
    const run = await page.evaluate(async (q) => (await (await fetch("/api/runs?limit=50")).json()).runs.find((r) => r.query === q).run_id, `${q} And a boat?`); // other scenarios ask meanwhile
    page = await t.page(`${env.main}/runs/${run}`, options);
    await answered(page);
    await axe(page, "shared answer", rules);
  }),

  ...both("menu and dialogs", async (t, options, rules) => {
    const q = `What does a ship pay in a dialog ${rules ? "in the dark" : "in the light"}?`;
    let page = await t.asked(env.main, q, options);
    await answered(page);
    const item = page.getByRole("navigation").locator(".list li", { hasText: q }); // other scenarios ask meanwhile
    await item.hover();
    await item.getByRole("button", { name: "Rename" }).click();
    await page.getByRole("dialog").waitFor();
    await axe(page, "renaming", rules);
    await page.keyboard.press("Escape");
    await item.hover();
    await item.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").waitFor();
    await axe(page, "deleting", rules);
    page = await t.page(env.main, { ...options, viewport: { width: 320, height: 640 } });
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("navigation").getByRole("link", { name: "Documents" }).waitFor();
    await axe(page, "narrow menu", rules);
  }),
};
