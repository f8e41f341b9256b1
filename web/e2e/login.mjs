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

  "login and logout at a provider, in two tabs": async (t) => {
    const context = await t.context();
    const page = await t.page(env.federated, { context });
    const other = await t.page(env.federated, { context });
    await page.getByRole("link", { name: "Sign in with Example" }).click();
    await page.getByText("Signed in as test-user2@").waitFor();
    await other.getByRole("link", { name: "Sign in with Example" }).click();
    await other.getByText("Signed in as test-user2@").waitFor();
    const hint = (await context.cookies(`${env.federated}/auth/oidc/logout`)).find((c) => c.name === "sluice_id_token");
    assert.ok(hint.httpOnly && hint.path === "/auth/oidc/logout");
    const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
    assert.ok(!stored.includes(hint.value), "scripts can read the ID token");
    const provider = page.waitForRequest((r) => r.url().startsWith(`${env.provider}/end_session`));
    await page.getByRole("button", { name: "Sign out" }).click();
    assert.equal(new URL((await provider).url()).searchParams.get("id_token_hint"), hint.value);
    await page.getByText("You are signed out, here and at Example.").waitFor();
    await page.getByRole("link", { name: "Sign in with Example" }).waitFor();
    await other.getByRole("button", { name: "Sign out" }).click(); // its session has ended meanwhile
    await other.getByRole("link", { name: "Sign in with Example" }).waitFor();
    assert.equal(await other.getByRole("alert").count(), 0);
    assert.deepEqual(await context.cookies(env.federated), []);
  },

  "the login ends in the middle": async (t) => {
    const context = await t.context();
    const page = await t.page(env.keyed, { context });
    await login(page);
    await page.route("**/api/query/stream", async (route) => {
      await context.clearCookies(); // not earlier: another request of the page could be refused before the question is asked
      await route.continue();
    });
    const refused = page.waitForResponse("**/api/query/stream");
    await ask(page, "What does a ship pay without a login?");
    assert.equal((await refused).status(), 401);
    await page.getByLabel("API key").waitFor();
    await page.getByLabel("API key").fill(env.key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByLabel("Question", { exact: true }).waitFor();
  },
};
