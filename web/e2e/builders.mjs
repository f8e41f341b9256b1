// What builders use: the raw frames of a run, the comparison of two ways to ask, and the replay of a shared answer.
import assert from "node:assert/strict";
import { answered, ask, axe, env, equals, fits, until } from "./stage.mjs";

export default {
  "frames and code of a run": async (t) => {
    const page = await t.asked(env.main, "What does a ship pay to builders?");
    await answered(page);
    await page.getByRole("button", { name: "For builders", exact: true }).click();
    const view = page.getByRole("region", { name: "For builders" });
    for (const protocol of await view.getByRole("combobox").first().locator("option").allInnerTexts()) {
      await view.getByRole("combobox").first().selectOption(protocol);
      await view.getByText(/^[1-9]\d* frames? · [\d.,]+ k?B$/).waitFor();
    }
    assert.match(await view.locator(".code pre").innerText(), /^curl /);
    await view.getByRole("button", { name: "Python" }).click();
    await until(page, () => document.querySelector(".code pre").innerText.includes("import "));
    await axe(page, "frames");
    await page.setViewportSize({ width: 320, height: 700 });
    await fits(page, "frames");
  },

  "two ways to ask, side by side": async (t) => {
    const page = await t.page(`${env.main}/compare`);
    await page.getByLabel("Question", { exact: true }).fill("What does a ship pay in two ways?");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Differences" }).or(page.getByRole("heading", { name: "Differences" })).first().waitFor();
    await equals(() => page.locator(".answer").count(), 2);
    await axe(page, "comparison");
    const link = page.url();
    assert.match(link, /\/compare\?/);
    await page.setViewportSize({ width: 320, height: 700 });
    await fits(page, "comparison");
    await page.goto(link);
    await until(page, () => document.querySelector("textarea")?.value.includes("in two ways"));
  },

  "replay of a shared answer": async (t) => {
    const page = await t.asked(env.main, "What does a ship pay in a replay?");
    await answered(page);
    const run = await page.evaluate(async () => (await (await fetch("/api/runs?limit=50")).json()).runs.find((r) => r.query.includes("in a replay")).run_id);
    const shared = await t.page(`${env.main}/runs/${run}`);
    await answered(shared);
    const text = await shared.getByRole("group", { name: "Answer" }).innerText();
    await shared.getByRole("group", { name: "Replay" }).getByRole("button", { name: "4×" }).click();
    await answered(shared);
    assert.equal(await shared.getByRole("group", { name: "Answer" }).innerText(), text);
    await ask(page, "And in the next question?");
    await answered(page, 2);
  },
};
