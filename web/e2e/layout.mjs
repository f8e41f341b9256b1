// Narrow windows, the keyboard, reduced motion and the dark appearance.
import assert from "node:assert/strict";
import { answered, ask, env, equals, fits, question, unanswerable, until } from "./stage.mjs";

export default {
  "narrow menu": async (t) => {
    const page = await t.page(env.main, { viewport: { width: 320, height: 640 } });
    await page.getByRole("heading", { name: "What would you like to know?" }).waitFor();
    await fits(page, "start");
    await page.getByRole("button", { name: /^Filter/ }).click();
    await page.getByLabel("Author").fill("A name that is much longer than the window is wide, so that it has to be cut off");
    await fits(page, "filter");
    const panel = await page.getByRole("dialog").boundingBox();
    assert.ok(panel.x >= 0 && panel.y >= 0 && panel.x + panel.width <= 320 && panel.y + panel.height <= 640, JSON.stringify(panel));
    await page.keyboard.press("Escape");
    await fits(page, "chips of a filter");
    await page.getByRole("button", { name: /^Remove the filter/ }).click();
    const menu = page.getByRole("button", { name: "Menu" });
    assert.equal(await menu.getAttribute("aria-expanded"), "false");
    await menu.click();
    await page.getByRole("navigation").getByRole("link", { name: "Documents" }).waitFor();
    await page.keyboard.press("Escape");
    await until(page, () => document.querySelector("nav").getBoundingClientRect().right <= 0);
    await menu.click();
    await page.getByRole("navigation").getByRole("link", { name: "Documents" }).click();
    await page.getByRole("heading", { name: "Documents" }).waitFor();
    await until(page, () => document.querySelector("nav").getBoundingClientRect().right <= 0);
    await fits(page, "documents");
    await page.getByRole("link", { name: "New question" }).first().click();
    await ask(page, question);
    await answered(page);
    await fits(page, "answer");
    await page.getByText("Show the steps").click();
    await fits(page, "steps");
    await page.getByRole("button", { name: "Source 1" }).first().click();
    await page.getByRole("dialog").waitFor();
    await fits(page, "source");
  },

  "conversations on a touch screen": async (t) => {
    for (const [width, height] of [[1200, 900], [390, 844]]) {
      const page = await t.asked(env.main, `What does a ship pay that is ${width} metres long and is seen on a touch screen?`, { viewport: { width, height }, hasTouch: true, isMobile: true });
      await answered(page);
      if (width < 700) await page.getByRole("button", { name: "Menu" }).tap();
      const item = page.getByRole("navigation").locator("li", { hasText: `that is ${width} metres long` });
      await item.waitFor();
      await until(page, () => document.querySelector("nav").getBoundingClientRect().left >= 0);
      await equals(() => item.locator(".tools").evaluate((e) => getComputedStyle(e).opacity), "1", "the buttons are shown without a mouse");
      const [title, time] = [await item.locator(".clip").boundingBox(), await item.locator("a .muted").evaluate((e) => {
        const range = document.createRange();
        range.selectNodeContents(e);
        return range.getBoundingClientRect().toJSON();
      })];
      for (const name of ["Rename", "Export", "Delete"]) {
        const icon = await item.getByRole("button", { name }).locator("svg").boundingBox();
        assert.ok(icon.y >= title.y + title.height, `${width} pixels: ${name} is on the title: ${JSON.stringify([icon, title])}`);
        assert.ok(icon.x >= time.x + time.width, `${width} pixels: ${name} is on the time: ${JSON.stringify([icon, time])}`);
      }
    }
  },

  "steps of earlier questions": async (t) => {
    const page = await t.asked(env.main, unanswerable); // with many searches
    await answered(page);
    const first = page.locator("article.turn").first();
    const height = (l) => l.evaluate((e) => e.getBoundingClientRect().height);
    assert.ok(await height(first.locator("aside")) > 400, "the steps are shown at their height");
    await ask(page, "What does a ship pay after that?");
    await answered(page, 2);
    assert.ok(await height(first) <= Math.max(await height(first.locator(".main")), 224) + 1, `the first question is ${await height(first)} pixels high`);
  },

  "only the keyboard": async (t) => {
    const page = await t.page(env.main);
    await equals(() => page.evaluate(() => document.activeElement?.id), "question", "a question can be typed at once");
    await page.keyboard.type("What does a ship pay by keyboard?");
    await page.keyboard.press("Enter");
    await answered(page);
    const reach = async (name, key = "Tab") => {
      for (let i = 0; i < 60; i++) {
        if (await page.evaluate((name) => (document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "").includes(name), name)) return;
        await page.keyboard.press(key);
      }
      assert.fail(`${name} cannot be reached with ${key}`);
    };
    await equals(() => page.evaluate(() => document.activeElement?.id), "question", "after an answer the next question can be typed");
    await reach("Source 1", "Shift+Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await reach("Understood the question");
    await page.keyboard.press("Enter");
    await page.getByText("A simple question").last().waitFor();
    await page.evaluate(() => document.activeElement.blur());
    await page.reload();
    await answered(page);
    await page.keyboard.press("Tab");
    assert.match(await page.evaluate(() => document.activeElement?.textContent), /Skip to the content/);
    await page.keyboard.press("Enter");
    await until(page, () => document.activeElement?.id === "content");
  },

  "reduced motion": async (t) => {
    const q = "What does a ship pay without motion?";
    await t.script(q, ["It pays ", "12 euros ⟦1⟧."], { hold: 1 });
    const page = await t.asked(env.main, q, { reducedMotion: "reduce" });
    await page.getByText("It pays").waitFor();
    assert.deepEqual(await page.evaluate(() => document.getAnimations().map((a) => a.animationName ?? a.transitionProperty)), []);
    await t.release(q);
    await answered(page);
  },

  "dark and light": async (t) => {
    const background = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const page = await t.page(env.main, { colorScheme: "dark" });
    const theme = page.getByRole("navigation").getByLabel("Appearance");
    await theme.waitFor();
    const dark = await background(page);
    await theme.selectOption("light");
    const light = await background(page);
    assert.notEqual(dark, light);
    await page.reload();
    await theme.waitFor();
    assert.equal(await background(page), light);
    await theme.selectOption("system");
    assert.equal(await background(page), dark);
  },

  "wide window": async (t) => {
    const page = await t.asked(env.main, question, { viewport: { width: 3840, height: 2160 } });
    await answered(page);
    await fits(page, "4K");
    const width = await page.getByRole("group", { name: "Answer" }).evaluate((e) => e.getBoundingClientRect().width);
    assert.ok(width < 1000, `a line of ${width} pixels is hard to read`);
  },
};
