// Servers with keys.
import assert from "node:assert/strict";
import { answered, ask, env } from "./stage.mjs";

async function login(page) {
  await page.getByLabel("API key").fill(env.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "What would you like to know?" }).waitFor();
}

export default {
  "login, wrong key, logout": async (t) => {
    const page = await t.page(env.keyed);
    await page.getByLabel("API key").fill("sluice_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    assert.doesNotMatch(await page.getByRole("alert").innerText(), /undefined|HTTP_|\{/);
    await login(page);
    await ask(page, "What does a ship pay, signed in?");
    await answered(page);
    await page.getByText("Signed in as alice").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    assert.doesNotMatch(await page.locator("body").innerText(), /signed in/i);
    await page.reload();
    await page.getByLabel("API key").waitFor();
  },

  "the login ends in the middle": async (t) => {
    const context = await t.context();
    const page = await t.page(env.keyed, { context });
    await login(page);
    await context.clearCookies();
    await ask(page, "What does a ship pay without a login?");
    await page.getByLabel("API key").waitFor();
    await page.getByLabel("API key").fill(env.key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByLabel("Question", { exact: true }).waitFor();
  },
};
