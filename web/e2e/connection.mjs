// Connections that are lost.
import assert from "node:assert/strict";
import { answered, ask, env, equals } from "./stage.mjs";

export default {
  "the server is killed in the middle of an answer": async (t) => {
    const q = "What does a ship pay when the server is killed?";
    await t.script(q, ["It pays 12 euros ", "for each metre ⟦1⟧."], { hold: 1 });
    const page = await t.asked(env.fragile, q);
    await page.getByText("It pays 12 euros").waitFor();
    await t.kill();
    await page.getByText("The server cannot be reached").waitFor();
    await t.release(q);
    await t.start();
    await page.getByText("The server cannot be reached").waitFor({ state: "detached" });
    await answered(page);
    assert.match(await page.getByRole("group", { name: "Answer" }).innerText(), /It pays 12 euros/);
    await ask(page, "What does a ship pay after the start?");
    await answered(page, 2);
  },

  "offline": async (t) => {
    const q = "What does a ship pay offline?";
    await t.script(q, ["It pays 12 euros ", "for each metre ⟦1⟧."], { hold: 1 });
    const context = await t.context();
    const page = await t.asked(env.main, q, { context });
    await page.getByText("It pays 12 euros").waitFor();
    await t.release(q);
    await answered(page);
    await context.setOffline(true);
    await ask(page, "What does a ship pay, asked offline?");
    await page.getByRole("alert").waitFor();
    assert.match(await page.getByRole("alert").innerText(), /cannot be reached/);
    await context.setOffline(false);
    await page.getByRole("button", { name: "Try again" }).click();
    await answered(page, 2);
    await equals(() => page.getByRole("heading", { level: 2, name: "asked offline" }).count(), 1);
  },
};
