// What one does with an answer.
import assert from "node:assert/strict";
import { answered, ask, copy, env, equals, until, withClipboard } from "./stage.mjs";

export default {
  "rating with a reason": async (t) => {
    const page = await t.asked(env.main, "What does a ship pay, rated?");
    await answered(page);
    const bad = page.getByRole("button", { name: "Bad answer" });
    await bad.click();
    await page.getByLabel("What was wrong?").fill("too short");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Thank you.").waitFor();
    assert.equal(await bad.getAttribute("aria-pressed"), "true");
    await page.reload();
    await answered(page);
    await until(page, () => document.querySelector("[aria-label='Bad answer']")?.getAttribute("aria-pressed") === "true");
    await page.getByRole("button", { name: "Good answer" }).click();
    await until(page, () => document.querySelector("[aria-label='Good answer']")?.getAttribute("aria-pressed") === "true");
    await page.getByRole("button", { name: "Good answer" }).click();
    await until(page, () => document.querySelector("[aria-label='Good answer']")?.getAttribute("aria-pressed") === "false");
  },

  "retry and versions": async (t) => {
    const q = "What does a ship pay in versions?";
    await t.script(q, ["First: 12 euros ⟦1⟧."]);
    const page = await t.asked(env.main, q);
    await page.getByText("First: 12 euros").waitFor();
    await answered(page);
    await t.script(q, ["Second: 12 euros ⟦1⟧."]);
    await page.getByRole("button", { name: "Ask again" }).click();
    await page.getByText("Second: 12 euros").waitFor();
    await page.getByText("Version 2 of 2").waitFor();
    await page.getByRole("button", { name: "Previous version" }).click();
    await page.getByText("First: 12 euros").waitFor();
    await page.getByText("Version 1 of 2").waitFor();
    await page.getByRole("button", { name: "Next version" }).click();
    await page.getByText("Second: 12 euros").waitFor();
  },

  "edit the question": async (t) => {
    const page = await t.asked(env.main, "What does a ship pay, typed wrogn?");
    await answered(page);
    await page.getByRole("button", { name: "Edit the question" }).click();
    await page.getByRole("textbox", { name: "Edit the question" }).fill("What does a ship pay, typed right?");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Edit the question" }).click();
    await page.getByRole("textbox", { name: "Edit the question" }).fill("What does a ship pay, typed right?");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "typed right" }).waitFor();
    await answered(page);
    await page.getByText("Version 2 of 2").waitFor();
    await page.getByRole("button", { name: "Previous version" }).click();
    await page.getByRole("heading", { name: "typed wrogn" }).waitFor();
  },

  "copy, and a link that others can open": async (t) => {
    const context = await t.context({ permissions: ["clipboard-read", "clipboard-write"] });
    const page = await t.asked(env.main, "What does a ship pay, on the clipboard?", { context });
    await answered(page);
    const read = () => page.evaluate(() => navigator.clipboard.readText());
    const [text, link] = await withClipboard(async () => {
      await copy(page);
      const text = await read();
      await page.getByRole("button", { name: "Copy link" }).click();
      await until(page, async () => (await navigator.clipboard.readText()).startsWith("http"));
      return [text, await read()];
    });
    assert.match(text, /^A ship pays 12 euros for each metre of its length\s?\.$/);
    assert.match(link, /\/runs\/run_\w+$/);
    const other = await t.page(link);
    await other.getByRole("heading", { name: "What does a ship pay, on the clipboard?" }).waitFor();
    await other.getByText("for each metre").first().waitFor();
  },

  "a run that there is not": async (t) => {
    const page = await t.page(`${env.main}/runs/run_00000000000000000000000000`);
    await page.getByRole("alert").waitFor();
    assert.ok((await page.getByRole("alert").innerText()).length > 10);
    assert.doesNotMatch(await page.locator("main").innerText(), /Looking for the answer|Show the steps|undefined/);
  },

  "a page that comes by plain HTTP": async (t) => {
    const context = await t.context();
    await context.addInitScript(() => { // what browsers leave out there
      delete Crypto.prototype.randomUUID;
      Object.defineProperty(Navigator.prototype, "clipboard", { get: () => undefined });
    });
    const page = await t.asked(env.main, "What does a ship pay by plain HTTP?", { context });
    await answered(page);
    await withClipboard(() => copy(page));
    await page.goto(`${env.main}/documents`);
    await page.locator("input[type=file]").first().setInputFiles({ name: "plain.md", mimeType: "text/markdown", buffer: Buffer.from("# Plain\n\nA plain text.\n") });
    await page.getByText("1 document is ready").waitFor();
  },

  "follow-up question": async (t) => {
    const page = await t.asked(env.main, "What does a ship pay first?");
    await answered(page);
    await ask(page, "And fishing boats from the town?");
    await answered(page, 2);
    await equals(() => page.locator("article").count(), 2);
    await page.reload();
    await answered(page, 2);
    await equals(() => page.getByRole("heading", { level: 2 }).count(), 2);
  },
};
