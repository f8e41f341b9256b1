// Tenants in the administration.
import assert from "node:assert/strict";
import { axe, env, fits } from "./stage.mjs";

async function administration(t, key, options = {}) {
  const page = await t.page(`${env.keyed}/admin`, options);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Keys", exact: true }).waitFor();
  return page;
}

const section = (page) => page.getByRole("region", { name: "Tenants", exact: true });
const row = (page, name) => section(page).getByRole("row").filter({ has: page.getByRole("cell", { name, exact: true }) });

export default {
  "a tenant is created, used and deleted, with the keyboard": async (t) => {
    const page = await administration(t, env.operator);
    const press = (...keys) => keys.reduce((before, k) => before.then(() => page.keyboard.press(k)), Promise.resolve());
    await section(page).getByText("default · yours").waitFor();
    const own = section(page).getByRole("row").filter({ hasText: "default · yours" }); // tests of others have made tenants, too
    assert.equal(await own.count(), 1);
    assert.equal(await own.getByRole("button", { name: /Delete/ }).count(), 0, "the own tenant can be deleted");
    await section(page).getByRole("button", { name: "Create a tenant" }).focus();
    await press("Enter");
    await page.keyboard.type("e2e tenant");
    await axe(page, "create a tenant");
    await press("Enter");
    await page.getByRole("dialog").getByRole("alert").waitFor();
    assert.match(await page.getByRole("dialog").getByRole("alert").innerText(), /tenant: want 1 to 64/);
    await press("Control+A");
    await page.keyboard.type("e2e-tenant");
    await press("Tab");
    await page.keyboard.type("ada");
    await press("Enter");
    const secret = await page.locator(".secret").innerText();
    assert.match(secret, /^sluice_/);
    await press("Escape");
    await page.getByText(secret).waitFor({ state: "detached" });
    await row(page, "e2e-tenant").waitFor();
    assert.match(await row(page, "e2e-tenant").innerText(), /1\s.*B\s.*closed/s);

    // Its administrator sees no tenants, and cannot give the right to do so.
    const other = await administration(t, secret);
    await other.getByText("Signed in as ada").waitFor();
    assert.equal(await section(other).count(), 0, "the administrator of a tenant sees the tenants");
    await other.getByRole("button", { name: "Add a key" }).click();
    assert.deepEqual(await other.getByRole("checkbox").evaluateAll((all) => all.map((e) => e.value)), ["ask", "read", "write", "admin"]);
    await press("Escape");

    await page.reload();
    await row(page, "e2e-tenant").getByText("open").waitFor();
    await axe(page, "tenants");
    await section(page).getByRole("button", { name: "Delete the tenant “e2e-tenant”" }).focus();
    await press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await axe(page, "delete a tenant");
    const remove = dialog.getByRole("button", { name: "Delete", exact: true });
    assert.ok(await remove.isDisabled(), "nothing was typed yet");
    await page.keyboard.type("e2e");
    await press("Enter");
    assert.ok(await remove.isDisabled(), "another name was typed");
    await page.keyboard.type("-tenant");
    await press("Tab", "Tab", "Enter");
    await dialog.waitFor({ state: "detached" });
    await row(page, "e2e-tenant").waitFor({ state: "detached" });
    await other.reload();
    await other.getByLabel("API key").waitFor();
  },

  "a deletion that is refused says why": async (t) => {
    const page = await administration(t, env.operator, { viewport: { width: 320, height: 640 } });
    await section(page).getByRole("button", { name: "Create a tenant" }).click();
    await fits(page, "create a tenant");
    await page.getByLabel("Name").fill("e2e-twice");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.locator(".secret").waitFor();
    await page.keyboard.press("Escape");
    const gone = await page.evaluate(() => fetch("/api/admin/tenants/e2e-twice?confirm=e2e-twice", { method: "DELETE" }).then((r) => r.status));
    assert.equal(gone, 204);
    await section(page).getByRole("button", { name: "Delete the tenant “e2e-twice”" }).click();
    await page.getByLabel("To confirm, type e2e-twice").fill("e2e-twice");
    await fits(page, "delete a tenant");
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").getByRole("alert").waitFor();
    assert.match(await page.getByRole("dialog").getByRole("alert").innerText(), /there is no tenant e2e-twice/);
    await page.keyboard.press("Escape");
    await row(page, "e2e-twice").waitFor({ state: "detached" });
  },
};
