// The first minute, the question box, and an answer that is being written.
import assert from "node:assert/strict";
import { events } from "./events.mjs";
import { answered, ask, env, equals, unanswerable } from "./stage.mjs";

export default {
  "first minute": async (t) => {
    const page = await t.page(env.fresh);
    await page.getByRole("heading", { name: "Add documents to begin" }).waitFor();
    const name = "tariff.md";
    await page.locator("input[type=file]").first().setInputFiles({ name, mimeType: "text/markdown", buffer: Buffer.from("# Tariff\n\nA day ticket costs 9 euros. Children under six ride free of charge.\n") });
    await page.getByText("1 document is ready").waitFor();
    await ask(page, "What does a day ticket cost?");
    await answered(page);
    assert.match(await page.getByRole("group", { name: "Answer" }).innerText(), /9 euros/);
    await page.getByRole("link", { name: "Documents", exact: true }).click();
    await page.getByText(name).first().waitFor();
  },

  "streaming, citation, marked sentence": async (t) => {
    const q = "What does a ship pay while it streams?";
    await t.script(q, ["A ship pays **12 euros** ", "for each metre of its length ⟦1⟧.", " That is all."], { hold: 1 });
    const page = await t.asked(env.main, q);
    const answer = page.getByRole("group", { name: "Answer" });
    await answer.getByText("12 euros").waitFor();
    assert.equal(await page.locator("article").getAttribute("aria-busy"), "true");
    assert.equal(await page.getByRole("button", { name: "Copy link" }).count(), 0, "actions while the answer is written");
    await t.release(q);
    await answered(page);
    assert.match(await answer.innerText(), /A ship pays 12 euros for each metre of its length\u2060?\s*1\s*\. That is all\./);
    assert.equal(await answer.locator("strong").innerText(), "12 euros");
    await answer.getByRole("button", { name: "Source 1" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    assert.equal(await dialog.locator("mark").innerText(), "A ship pays 12 euros for each metre of its length.");
    assert.match(await dialog.innerText(), /harbour\.md/);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await equals(() => page.evaluate(() => document.activeElement?.className), "citation", "the focus returns to the citation");
  },

  "keys of the question box": async (t) => {
    const q = "What does a ship pay\nin the second line?";
    await t.script("in the second line?", ["It pays ", "12 euros ⟦1⟧."], { hold: 1 });
    const page = await t.page(env.main);
    const box = page.getByLabel("Question", { exact: true });
    await equals(() => box.evaluate((e) => e === document.activeElement), true, "the box has the focus");
    await box.fill("   ");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("article").count(), 0, "nothing was asked");
    await box.fill("What does a ship pay");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("in the second line?");
    assert.equal(await box.inputValue(), q);
    await page.keyboard.press("Enter");
    await page.getByText("It pays").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("Stopped.").waitFor();
    await page.getByRole("button", { name: "Copy link" }).waitFor();
    assert.match(await page.getByRole("heading", { level: 2 }).innerText(), /second line/);
  },

  "stop with the button, then ask again": async (t) => {
    const q = "What does a ship pay before it stops?";
    await t.script(q, ["It pays ", "12 euros ⟦1⟧."], { hold: 1 });
    const page = await t.asked(env.main, q);
    await page.getByText("It pays").waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("Stopped.").waitFor();
    await page.getByRole("button", { name: "Ask", exact: true }).waitFor();
    const again = "What does a ship pay after the stop?";
    await t.script(again, ["It pays 12 euros ⟦1⟧."]);
    await ask(page, again);
    await answered(page, 2);
    const { y } = await page.getByRole("heading", { name: again }).boundingBox();
    assert.ok(y >= 0 && y < 200, `the new question is at ${y}`);
  },

  "steps and their details": async (t) => {
    const page = await t.asked(env.main, "What does a ship pay for each step?");
    await answered(page);
    const steps = page.getByRole("region", { name: "Steps" }).first();
    const words = await steps.innerText();
    for (const step of ["Understood the question", "Searched for", "Checked how well the passages fit", "Wrote the answer", "Checked the answer against its sources"]) assert.ok(words.includes(step), step);
    for (const summary of await steps.locator("summary").all()) {
      await summary.click();
      assert.ok((await summary.locator("xpath=../div").innerText()).trim().length >= 0);
    }
    const open = await steps.innerText();
    assert.match(open, /by words and meaning/);
    assert.match(open, /by rules/);
    assert.doesNotMatch(open, /coverage|undefined|NaN|\[object/);
    assert.match(open, /harbour\.md/);
  },

  "figures warn when nothing was cited": async (t) => {
    const page = await t.asked(env.main, unanswerable);
    await answered(page);
    const confidence = page.locator(".figures .unsupported");
    await confidence.waitFor();
    assert.match(await confidence.innerText(), /⚠/);
    assert.match(await confidence.innerText(), /No source contributed|do not support/);
    for (const [run, flagged, text] of [["run_uncited", false, /No source contributed/], ["run_flagged", true, /do not support/]]) {
      const list = events(run, { tokens: ["Made up."] });
      for (const e of list) {
        if (e.kind === "attributed" && !flagged) e.body.sources.forEach((s) => (s.cited = false));
        if (e.kind === "verified") e.body.flagged = flagged;
      }
      await t.run(run, list);
      const made = await t.page(`${env.synthetic}/runs/${run}`);
      await made.locator(".figures .unsupported").waitFor();
      assert.match(await made.locator(".figures .unsupported").innerText(), text);
      assert.match(await made.locator(".figures").innerText(), /Credits distributed\s*0\.0009/, "an answer that was charged");
    }
    const good = await t.asked(env.main, "What does a ship pay, with figures?");
    await answered(good);
    const figures = await good.locator(".figures").innerText();
    assert.doesNotMatch(figures, /⚠/);
    for (const name of ["First text", "Total", "Cost", "Confidence"]) assert.ok(figures.includes(name), name);
    assert.doesNotMatch(figures, /Credits/, "a server without prices");
    assert.match(figures, /Confidence\s*\d+\s?%/);
  },

  "a collection that was deleted": async (t) => {
    const page = await t.page(env.main);
    await page.evaluate(() => localStorage.setItem("settings", JSON.stringify({ collection: "vs_deleted" })));
    await page.reload();
    await equals(() => page.evaluate(() => JSON.parse(localStorage.getItem("settings") ?? "{}").collection), "", "all documents are searched");
    await page.getByRole("button", { name: "Options" }).click();
    assert.equal(await page.locator("#options select").nth(1).inputValue(), "");
  },

  "options are kept": async (t) => {
    const page = await t.page(env.main);
    await page.getByRole("button", { name: "Options" }).click();
    await page.locator("#options select").first().selectOption("direct");
    await page.reload();
    await page.getByRole("button", { name: "Options" }).click();
    assert.equal(await page.locator("#options select").first().inputValue(), "direct");
    await ask(page, "What does a ship pay directly?");
    await answered(page);
  },

  "filter": async (t) => {
    await t.script("What does a late book cost?", ["It costs 20 cents a day ⟦1⟧."]);
    const page = await t.page(env.main);
    const button = page.getByRole("button", { name: /^Filter/ });
    const panel = page.getByRole("dialog", { name: "Only documents with" });
    const author = panel.getByLabel("Author");
    await button.focus();
    await page.keyboard.press("Enter");
    await author.waitFor();
    await equals(() => author.evaluate((e) => e === document.activeElement), true, "the first field has the focus");
    await page.keyboard.type("vale");
    const [b, p] = [await button.boundingBox(), await panel.boundingBox()];
    assert.ok(p.y >= b.y + b.height || p.y + p.height <= b.y, "the panel does not cover its button");
    await panel.getByLabel("From date").fill("2021-01-01");
    await panel.getByLabel("File type").selectOption({ label: "Markdown" });
    await panel.getByLabel("Document language").selectOption("en");
    await author.focus();
    await page.keyboard.press("Enter");
    await author.waitFor({ state: "hidden" });
    assert.equal(await page.locator("article").count(), 0, "Enter in the filter asks nothing");
    await equals(() => button.evaluate((e) => e === document.activeElement), true, "the focus returns to the button");
    const chips = page.getByRole("list", { name: "Only documents with" }).getByRole("listitem");
    await equals(() => chips.allInnerTexts(), ["Author: vale", "From date: Jan 1, 2021", "File type: Markdown", "Document language: English"]);
    await page.reload();
    await equals(() => chips.count(), 4, "the filter is kept");

    await page.getByRole("button", { name: "Remove the filter: Document language: English" }).focus();
    await page.keyboard.press("Enter");
    await equals(() => chips.count(), 3);
    await equals(() => page.getByLabel("Question", { exact: true }).evaluate((e) => e === document.activeElement), true, "the focus goes to the question");
    const sent = page.waitForRequest((r) => r.method() === "POST" && r.url().endsWith("/api/query/stream"));
    await ask(page, "What does a late book cost?");
    assert.deepEqual((await sent).postDataJSON().filter, { type: "and", filters: [
      { type: "contains", key: "creator", value: "vale" }, { type: "gte", key: "date", value: "2021-01-01" }, { type: "eq", key: "type", value: "text/markdown" }] });
    await answered(page);
    assert.match(await page.getByRole("group", { name: "Answer" }).innerText(), /20 cents/);
    assert.match(await page.locator("article").innerText(), /library\.md/);
    await equals(() => page.locator("article .filters .badge").allInnerTexts(), ["Author: vale", "From date: Jan 1, 2021", "File type: Markdown"]);
    await ask(page, "What does a ship pay, says the library?");
    await answered(page, 2);
    assert.doesNotMatch(await page.locator("article").nth(1).innerText(), /harbour\.md/, "a follow-up keeps to the filter");

    await button.click();
    await author.fill("nobody");
    await page.keyboard.press("Escape");
    await author.waitFor({ state: "hidden" });
    await ask(page, "What does a book cost?");
    await page.getByText("No document matches the filter. Change or remove it, and ask again.").waitFor();
    await button.click();
    await panel.getByRole("button", { name: "Clear the filters" }).click();
    await panel.getByRole("button", { name: "Close" }).click();
    await equals(() => chips.count(), 0);
  },

  "filter by the types of the documents": async (t) => {
    const office = "application/vnd.openxmlformats-officedocument.";
    const types = { [`${office}wordprocessingml.document`]: 1, [`${office}spreadsheetml.sheet`]: 2, "message/rfc822": 1, "text/csv": 1, "application/json": 1, "text/markdown": 2 };
    const context = await t.context();
    await context.route("**/api/documents?*", async (route) => { // documents of many types
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), types } });
    });
    const page = await t.page(env.main, { context });
    await page.getByRole("button", { name: /^Filter/ }).click();
    const inFilter = page.getByRole("dialog", { name: "Only documents with" }).getByLabel("File type");
    const names = (select) => select.locator("option").allInnerTexts();
    await equals(() => names(inFilter), ["Every type", "CSV", "E-mail", "Excel", "JSON", "Markdown", "Word"]);
    const list = await t.page(`${env.main}/documents`, { context });
    await equals(() => names(list.getByLabel("Filter: Type")), ["Every type", "CSV (1)", "E-mail (1)", "Excel (2)", "JSON (1)", "Markdown (2)", "Word (1)"]);

    await page.evaluate(() => localStorage.setItem("settings", JSON.stringify({ filter: { type: "table" } }))); // of an earlier version
    await page.reload();
    await page.getByRole("button", { name: /^Filter/ }).click();
    await equals(() => inFilter.locator("option:checked").innerText(), "Table", "a type that no document has stays chosen");
  },

  "filter of another client": async (t) => {
    for (const [run, filter, badges] of [["run_filtered", { type: "gte", key: "date", value: "2021" }, ["With a filter"]], ["run_language", { type: "eq", key: "language", value: "xx-not a tag" }, ["With a filter"]],
      ["run_days", { type: "and", filters: [{ type: "lte", key: "date", value: "2021-02-03" }, { type: "eq", key: "type", value: "table" }] }, ["To date: Feb 3, 2021", "File type: Table"]]]) {
      const list = events(run, { tokens: ["Text."] });
      list[0].body.filter = filter;
      await t.run(run, list);
      const page = await t.page(`${env.synthetic}/runs/${run}`);
      await page.locator("article .filters .badge").first().waitFor();
      await equals(() => page.locator("article .filters .badge").allInnerTexts(), badges);
    }
  },
};
