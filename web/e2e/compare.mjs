// Answers side by side.
import assert from "node:assert/strict";
import { axe, env, equals, fits } from "./stage.mjs";

export default {
  "compare two and three ways of asking": async (t) => {
    const page = await t.page(`${env.main}/compare`);
    await page.getByLabel("Question", { exact: true }).fill("What does a ship pay side by side?");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Differences" }).waitFor();
    await equals(() => page.getByText("for each metre of its length").count(), 2);
    assert.ok((await page.getByText("in all answers").count()) >= 2);
    const url = new URL(page.url());
    assert.deepEqual(url.searchParams.getAll("mode"), ["agentic", "direct"]);
    assert.equal(new Set(url.searchParams.getAll("run")).size, 2);
    await axe(page, "two answers");

    const other = await t.page(url.href); // the link shows the same answers, and asks nothing
    await other.getByRole("heading", { name: "Differences" }).waitFor();
    assert.equal(await other.getByLabel("Question", { exact: true }).inputValue(), "What does a ship pay side by side?");
    assert.equal(other.url(), url.href);

    await page.getByRole("button", { name: "Add a column" }).click();
    const third = page.getByRole("region", { name: "Column 3" });
    await third.getByRole("spinbutton").fill("2");
    await third.getByRole("combobox", { name: "Model" }).selectOption("scripted");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByRole("columnheader", { name: "Column 3" }).waitFor();
    assert.deepEqual(new URL(page.url()).searchParams.getAll("top_k"), ["5", "5", "2"]);
    assert.deepEqual(new URL(page.url()).searchParams.getAll("model"), ["", "", "scripted"]);
    await third.getByRole("button", { name: "Source 1" }).click();
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    for (const width of [320, 900, 2560]) {
      await page.setViewportSize({ width, height: 800 });
      await fits(page, `${width} px`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole("button", { name: "Remove column 3" }).click();
    await page.getByRole("columnheader", { name: "Column 3" }).waitFor({ state: "detached" });
  },
};
