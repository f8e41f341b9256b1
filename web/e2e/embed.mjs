// The chat on the pages of other origins.
import assert from "node:assert/strict";
import { axe, env, until } from "./stage.mjs";

async function open(t, url, options = {}) {
  const context = await t.context(options);
  const page = await context.newPage();
  page.on("pageerror", (err) => t.faults.push(`page error: ${err.stack ?? err}`));
  page.on("console", (m) => t.console.push(`${m.type()}: ${m.text()}`));
  page.on("dialog", (d) => t.faults.push(`dialog: ${d.message()}`));
  const sent = [];
  page.on("request", (r) => sent.push(new URL(r.url()).origin));
  await page.goto(url);
  return { page, chat: page.locator("sluice-chat"), sent };
}

async function ask(page, text) {
  await page.getByRole("textbox", { name: "Your question" }).fill(text);
  await page.keyboard.press("Enter");
}

export default {
  "chat on a page of an allowed origin": async (t) => {
    const { page, chat, sent } = await open(t, `${env.site}/?c=default`);
    const launch = chat.locator(".launch");
    await launch.click();
    assert.equal(await launch.getAttribute("aria-expanded"), "true");
    await ask(page, "What does a ship pay, from another site?");
    await chat.getByText("for each metre of its length").waitFor();
    await chat.getByRole("list", { name: "Sources" }).waitFor();
    await chat.getByRole("button", { name: "Source 1" }).click();
    const passage = page.getByRole("dialog", { name: "Harbour fees" });
    assert.match(await passage.locator("blockquote").innerText(), /12 euros/);
    await page.keyboard.press("Escape");
    await passage.waitFor({ state: "hidden" });
    await axe(page, "an answer");
    await ask(page, "And how long is a book lent, from another site?");
    await chat.getByRole("list", { name: "Sources" }).nth(1).waitFor();
    assert.deepEqual([...new Set(sent)].sort(), [env.site, env.keyed].sort());
    assert.deepEqual(await page.context().cookies(), []);

    await page.reload(); // the conversation goes on on the next page
    await launch.click();
    await chat.getByRole("list", { name: "Sources" }).nth(1).waitFor();
    await chat.getByText("And how long is a book lent").waitFor();
    await page.keyboard.press("Escape");
    await chat.locator(".panel").waitFor({ state: "hidden" });
    await until(page, () => document.activeElement?.shadowRoot?.activeElement?.className === "launch");
    await launch.click();
    await chat.getByRole("button", { name: "New conversation" }).click();
    await chat.getByText("Ask me about our documents.").waitFor();
  },

  "chat of a wrong collection": async (t) => {
    const { page, chat } = await open(t, `${env.site}/?c=files`);
    await chat.locator(".launch").click();
    await ask(page, "What does a ship pay in files?");
    await chat.locator(".notice").getByText("This chat is not available on this page.").waitFor();
  },

  "chat on a page of another origin": async (t) => {
    const { page, chat } = await open(t, `${env.stranger}/?c=default`);
    await chat.locator(".launch").click();
    await ask(page, "What does a ship pay for strangers?");
    await chat.locator(".notice").getByText("The server cannot be reached.").waitFor();
    await chat.getByRole("button", { name: "Try again" }).waitFor();
    assert.doesNotMatch(await chat.locator(".panel").innerText(), /euros/);
  },

  "chat in its place, dark, narrow, in German": async (t) => {
    const { page, chat } = await open(t, `${env.site}/?c=default&inline=1`, { colorScheme: "dark", viewport: { width: 320, height: 640 } });
    await page.evaluate(() => document.documentElement.setAttribute("lang", "de"));
    await page.getByRole("heading", { name: "Ask us" }).waitFor();
    assert.equal(await chat.locator(".launch").isVisible(), false);
    await ask(page, "What does a ship pay in the dark?");
    await chat.getByRole("list", { name: "Sources" }).waitFor();
    const colors = await chat.locator(".panel").evaluate((e) => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]);
    assert.deepEqual(colors, ["rgb(18, 24, 26)", "rgb(227, 234, 234)"]);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
    await axe(page, "in its place");
  },

  "chat with a hostile answer": async (t) => {
    const attack = "<img src=x onerror=alert(1)><script>alert(1)</script>\n\n[a](javascript:alert(1)) [b](https://example.org/ok) **bold** `code` \u{f0001}\n\n- one\n- two\n\n| a | b |\n| - | - |\n| <b>x</b> | y |\n\n";
    await t.script("ship pay to a villain", [attack, "A ship pays 12 euros ⟦1⟧."]);
    const { page, chat } = await open(t, `${env.site}/?c=default`);
    await chat.locator(".launch").click();
    await ask(page, "What does a ship pay to a villain?");
    await chat.getByRole("list", { name: "Sources" }).waitFor();
    const answer = chat.locator(".answer");
    assert.equal(await answer.locator("img, script, iframe, [style], [onerror]").count(), 0);
    assert.deepEqual(await answer.locator("a").evaluateAll((all) => all.map((a) => a.href)), ["https://example.org/ok"]);
    for (const [name, n] of [["strong", 1], ["code", 1], ["li:not(.sources li)", 2], ["td", 2], [".cite", 1]]) assert.equal(await answer.locator(name).count(), n, name);
  },
};
