// The protocol view and the replay in detail.
import assert from "node:assert/strict";
import { answered, axe, env, equals, fits, until, withClipboard } from "./stage.mjs";
import { events } from "./events.mjs";

const protocols = ["forge", "knowledge", "ragevents", "turns", "forrst", "events"];
const rows = (page) => page.locator("[role=option].row");
const count = async (page) => Number(/^([\d,]+) frame/.exec(await page.locator(".count").innerText())?.[1].replace(",", ""));

export default {
  "frames of an answer in every protocol": async (t) => {
    const context = await t.context({ permissions: ["clipboard-read", "clipboard-write"] });
    const page = await t.asked(env.main, "What does a ship pay, in frames?", { context });
    await answered(page);
    await page.getByRole("button", { name: "For builders", exact: true }).click();
    for (const p of protocols) {
      await page.getByRole("combobox", { name: "Protocol" }).selectOption(p);
      await until(page, () => /^[1-9]/.test(document.querySelector(".count").textContent) && !document.querySelector(".count").textContent.includes("…"));
      await rows(page).first().click();
      const shown = await page.locator(".frame pre").innerText();
      assert.ok(shown.length > 0, p);
      assert.match(await page.locator(".code code").innerText(), new RegExp(p === "events" ? "protocol=events" : `^(SESSION|curl).*127`));
      await withClipboard(async () => {
        await page.locator(".code .bar button").last().click();
        await equals(() => page.evaluate(() => navigator.clipboard.readText()), await page.locator(".code code").textContent());
      });
    }
    const all = await count(page);
    await page.getByLabel("Filter by text").fill("run_finished");
    await until(page, () => /^1 frame/.test(document.querySelector(".count").textContent));
    await page.getByLabel("Filter by text").fill("");
    assert.equal(await count(page), all);
    await page.getByRole("button", { name: "Python" }).click();
    assert.match(await page.locator(".code code").innerText(), /^import urllib/);
    await axe(page, "the protocol view");
    await page.setViewportSize({ width: 320, height: 700 });
    await fits(page, "the protocol view in a narrow window");
  },

  "frames arrive while the answer is written": async (t) => {
    await t.script("ship pay, frame by frame", ["A ship ", "pays 12 euros ", "for each metre ", "of its length ⟦1⟧."], { hold: 2 });
    const page = await t.asked(env.main, "What does a ship pay, frame by frame?");
    await page.getByText("A ship pays 12 euros").first().waitFor();
    await page.getByRole("button", { name: "For builders", exact: true }).click();
    await until(page, () => /^[1-9].*…/.test(document.querySelector(".count")?.textContent ?? ""));
    const before = await count(page);
    await t.release("ship pay, frame by frame");
    await answered(page);
    await until(page, () => !document.querySelector(".count").textContent.includes("…"));
    assert.ok((await count(page)) > before);
  },

  "a long stream has few rows": async (t) => {
    await t.run("run_long", events("run_long", { tokens: Array.from({ length: 5000 }, (_, i) => `word${i} `) }));
    const page = await t.page(`${env.synthetic}/runs/run_long`);
    await page.getByRole("button", { name: "For builders", exact: true }).click();
    await page.getByRole("combobox", { name: "Protocol" }).selectOption("events");
    await until(page, () => /^5,\d[^…]*$/.test(document.querySelector(".count").textContent)); // the stream has ended
    assert.ok((await rows(page).count()) < 60);
    await page.getByRole("listbox", { name: "Frames" }).focus();
    await page.keyboard.press("End");
    await page.locator(".frame").getByText("run_finished").first().waitFor();
    await page.keyboard.press("Home");
    await page.locator(".frame").getByText("run_started").first().waitFor();
  },

  "replay at two speeds, and an answer that was deleted": async (t) => {
    await t.script("ship pay once more", ["A ship pays ", "12 euros ", "for each metre ", "of its length ⟦1⟧."], { every: 400 });
    const page = await t.asked(env.main, "What does a ship pay once more?");
    await answered(page);
    const run = await page.evaluate(() => /runs\/(run_\w+)/.exec(performance.getEntriesByType("resource").map((r) => r.name).find((n) => n.includes("/runs/")))[1]);
    const other = await t.page(`${env.main}/runs/${run}`);
    await other.getByRole("button", { name: "Copy link" }).waitFor();
    for (const [speed, least] of [["1×", 1000], ["4×", 200]]) {
      const began = Date.now();
      const busy = other.locator("article[aria-busy=true]").waitFor(); // from before the click, since a replay can be short
      await Promise.all([busy, other.getByRole("button", { name: speed }).click()]);
      await other.getByRole("button", { name: "Copy link" }).waitFor();
      assert.ok(Date.now() - began >= least, `${speed} took ${Date.now() - began} ms`);
    }
    const long = events("run_minutes", { tokens: ["An answer that took minutes."] });
    for (const [i, e] of long.entries()) e.at = new Date(Date.parse(long[0].at) + 5000 * i).toISOString();
    await t.run("run_minutes", long);
    const slow = await t.page(`${env.synthetic}/runs/run_minutes`);
    await slow.getByRole("button", { name: "1×" }).click();
    await slow.getByRole("button", { name: "Skip to the end" }).click();
    await slow.getByRole("button", { name: "Copy link" }).waitFor();
    await slow.getByText("An answer that took minutes.").first().waitFor();
    const missing = await t.page(`${env.main}/runs/run_00000000000000000000000000`);
    await missing.getByText("This answer does not exist, or was deleted.").waitFor();
  },
};
