// The conversations in the sidebar, two tabs, and a reload in the middle of an answer.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { answered, ask, env, equals, until } from "./stage.mjs";

const title = (page, text) => page.getByRole("navigation").getByRole("link", { name: text });

export default {
  "search, rename, export and delete a conversation": async (t) => {
    const page = await t.asked(env.main, "What does a ship pay in the list of conversations?");
    await answered(page);
    const item = page.getByRole("navigation").locator("li", { hasText: "list of conversations" });
    await item.waitFor();
    await item.hover();
    await item.getByRole("button", { name: "Rename" }).click();
    await page.getByRole("dialog").getByLabel("Title").fill("Zander and pike");
    await page.getByRole("button", { name: "Save" }).click();
    await title(page, "Zander and pike").waitFor();
    const search = page.getByRole("searchbox");
    await search.fill("zander");
    await until(page, () => document.querySelectorAll("nav .list li").length === 1);
    await search.fill("quxquux");
    await page.getByText("Nothing found.").waitFor();
    await search.fill("");
    const renamed = page.getByRole("navigation").locator("li", { hasText: "Zander and pike" });
    await renamed.hover();
    const [file] = await Promise.all([page.waitForEvent("download"), renamed.getByRole("button", { name: "Export" }).click()]);
    assert.match(readFileSync(await file.path(), "utf8"), /12 euros for each metre/);
    await renamed.hover();
    await renamed.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByText("Zander and pike").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await title(page, "Zander and pike").waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "What would you like to know?" }).waitFor();
  },

  "a new question after an answer, and back": async (t) => {
    const page = await t.asked(env.main, "What does a ship pay, and back?");
    await answered(page);
    assert.match(page.url(), /\/sessions\//);
    await title(page, "and back").waitFor();
    assert.equal(await title(page, "and back").getAttribute("aria-current"), "page");
    await page.getByRole("navigation").getByRole("link", { name: "New question" }).click();
    await page.getByRole("heading", { name: "What would you like to know?" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "and back" }).waitFor();
    await answered(page);
    await page.goForward();
    await page.getByRole("heading", { name: "What would you like to know?" }).waitFor();
  },

  "a reload in the middle of an answer": async (t) => {
    const q = "What does a ship pay across a reload?";
    await t.script(q, ["Before the reload. ", "After it: 12 euros ⟦1⟧."], { hold: 1 });
    const page = await t.asked(env.main, q);
    await page.getByText("Before the reload.").waitFor();
    await until(page, () => location.pathname.startsWith("/sessions/"));
    await page.reload();
    await page.getByText("Before the reload.").waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
    await t.release(q);
    await page.getByText("After it: 12 euros").waitFor();
    await answered(page);
    await equals(() => page.locator("article").count(), 1);
    await page.getByRole("button", { name: "Ask again" }).waitFor(); // the ids of the messages are known
  },

  "two tabs agree": async (t) => {
    const q = "What does a ship pay in two tabs?";
    await t.script(q, ["In both tabs. ", "It is 12 euros ⟦1⟧."], { hold: 1 });
    const context = await t.context();
    const one = await t.asked(env.main, q, { context });
    await one.getByText("In both tabs.").waitFor();
    await until(one, () => location.pathname.startsWith("/sessions/"));
    const two = await t.page(one.url(), { context });
    await two.getByText("In both tabs.").waitFor();
    await t.release(q);
    for (const page of [one, two]) await answered(page);
    const [a, b] = await Promise.all([one, two].map((p) => p.getByRole("group", { name: "Answer" }).innerText()));
    assert.equal(a, b);
    await ask(one, "And fishing boats, in two tabs?"); // the other tab notices when it is looked at again
    await answered(one, 2);
    await two.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await two.getByRole("heading", { name: "And fishing boats" }).waitFor();
    await answered(two, 2);
  },

  "a deleted conversation": async (t) => {
    const page = await t.page(`${env.main}/sessions/session_0000000000000000`);
    await page.getByRole("alert").waitFor();
    assert.equal(await page.getByLabel("Question", { exact: true }).count(), 0, "a question box for a conversation that there is not");
    await page.getByRole("main").getByRole("link", { name: "New question" }).click();
    await page.getByRole("heading", { name: "What would you like to know?" }).waitFor();
  },
};
