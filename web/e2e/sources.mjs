// Sources of documents: a folder is added, synced, asked about, changed and removed; what is not valid or not permitted is refused.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import assert from "node:assert/strict";
import { answered, ask, axe, env, equals, fits } from "./stage.mjs";

async function open(t, key, options = {}) {
  const page = await t.page(`${env.sourced}/sources`, options);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Sources", level: 1 }).waitFor();
  return page;
}

// A folder of its own for a scenario.
function folder(name, files) {
  const dir = `${env.places}/${name}`;
  mkdirSync(dir, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(`${dir}/${file}`, text);
  return dir;
}

const card = (page, location) => page.getByRole("article", { name: location });
const add = async (page, location, fill = async () => {}) => {
  await page.getByRole("button", { name: "Add a source" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Kind").selectOption("folder");
  await dialog.getByLabel("Path").fill(location);
  await fill(dialog);
  await dialog.getByRole("button", { name: "Add a source" }).click();
};
const queued = { timeout: 60_000 }; // the syncs and removals of these scenarios run one after the other
const badge = (page, location, text) => card(page, location).locator("header").getByText(text, { exact: true }).waitFor(queued);

// Keeps the messages to screen readers. Those of other scenarios replace them.
const listen = (page) => page.evaluate(() => {
  const status = document.querySelector("[role=status]");
  globalThis.said = [];
  new MutationObserver(() => globalThis.said.push(status.textContent)).observe(status, { subtree: true, childList: true, characterData: true });
});
const said = (page, text) => equals(() => page.evaluate((text) => globalThis.said.some((m) => m.includes(text)), text), true, `${text} was not said`);

// A key with some scopes of the server of these scenarios.
const keyWith = async (scopes) => {
  const res = await fetch(`${env.sourced}/api/admin/keys`, { method: "POST", headers: { Authorization: `Bearer ${env.keeper}`, "Content-Type": "application/json" }, body: JSON.stringify({ scopes }) });
  assert.equal(res.status, 201, await res.clone().text());
  return (await res.json()).key;
};

export default {
  "a folder as a source, from adding to removing": async (t) => {
    const dir = folder("windmill", { "mill.md": "# Windmill\n\nThe windmill grinds rye on Tuesdays.\n", "notes.tmp.md": "# Draft\n\nNot yet.\n" });
    const page = await open(t, env.keeper);
    await listen(page);
    await add(page, dir, async (dialog) => {
      await dialog.getByLabel("Leave out documents that match").fill("*.tmp.md");
      await dialog.getByLabel("Sync every").fill("6");
      await dialog.getByText("Collection, contributor and metadata").click();
      await dialog.getByLabel("Author").fill("Mill office");
    });
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await badge(page, dir, "up to date");
    const text = () => card(page, dir).innerText();
    assert.match(await text(), /Folder · 1 document · every 6 hours · next sync in/);
    assert.match(await text(), /Leave out documents that match: \*\.tmp\.md · Author: Mill office/);
    assert.match(await text(), /1 new, 0 changed, 0 removed/);

    const other = await t.page(env.sourced, { context: page.context() });
    await ask(other, "What does the windmill grind on Tuesdays?");
    await answered(other);
    assert.match(await other.getByRole("group", { name: "Answer" }).innerText(), /grinds rye/);

    // One document changes, and one cannot be read.
    writeFileSync(`${dir}/mill.md`, "# Windmill\n\nThe windmill grinds barley on Wednesdays, since the rye is gone.\n");
    writeFileSync(`${dir}/sails.pdf`, "%PDF-1.7 and nothing else");
    await said(page, `The sync of ${dir} has ended.`);
    await page.evaluate(() => (globalThis.said = []));
    await page.getByRole("button", { name: `Sync now: ${dir}` }).focus();
    await page.keyboard.press("Enter");
    const failed = card(page, dir).getByRole("region", { name: "1 document could not be read" });
    await failed.waitFor(queued);
    assert.match(await failed.innerText(), /sails\.pdf not valid PDF/);
    await badge(page, dir, "incomplete");
    assert.match(await text(), /0 new, 1 changed, 0 removed/);
    await said(page, `The sync of ${dir} has ended.`);
    await other.getByRole("link", { name: "New question" }).first().click();
    await ask(other, "What does the windmill grind on Wednesdays?");
    await answered(other);
    assert.match(await other.getByRole("group", { name: "Answer" }).innerText(), /barley/);

    await card(page, dir).getByRole("button", { name: /^Remove: / }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 document is removed with the source").waitFor();
    await equals(() => dialog.getByRole("button", { name: "Cancel" }).evaluate((e) => e === document.activeElement), true, "the harmless choice has the focus");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await card(page, dir).getByRole("button", { name: /^Remove: / }).click();
    await dialog.getByRole("button", { name: "Remove", exact: true }).click();
    await card(page, dir).waitFor({ state: "detached", ...queued });
    await said(page, `${dir} was removed.`);
    const left = await page.evaluate(async (dir) => (await (await fetch("/api/documents?limit=100")).json()).documents.filter((d) => (d.path ?? "").startsWith(dir)), dir);
    assert.deepEqual(left, [], "documents of the source are left");
  },

  "the progress of a sync": async (t) => {
    const documents = 800; // so many that the page shows the sync while it goes on
    const files = Object.fromEntries(Array.from({ length: documents }, (_, i) => [`${String(i).padStart(4, "0")}.md`, `# Log ${i}\n\n${`The lamp number ${i} was lit at dusk by the keeper of tower ${i % 7}. `.repeat(120)}\n`]));
    const dir = folder("lamps", { ...files, "0000 damaged.pdf": "%PDF-1.7 and nothing else" });
    const page = await open(t, env.keeper);
    // Every figure that the page shows is kept, however short.
    await page.evaluate((dir) => {
      globalThis.seen = { counts: [], values: [], failed: false };
      new MutationObserver(() => {
        for (const p of document.querySelectorAll("article progress[max]")) {
          if (p.ariaLabel !== dir) continue; // of another scenario
          globalThis.seen.values.push(p.value);
          globalThis.seen.counts.push(p.parentElement.querySelector(".count")?.textContent);
          globalThis.seen.failed ||= !!p.closest("article").textContent.includes("1 document could not be read");
        }
      }).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    }, dir);
    await add(page, dir);
    await badge(page, dir, "syncing");
    await axe(page, "a sync in progress");
    await badge(page, dir, "incomplete");
    const { counts, values, failed } = await page.evaluate(() => globalThis.seen);
    assert.ok(values.length > 3 && values.every((v, i) => i === 0 || v >= values[i - 1]) && values.some((v) => v > 0 && v <= documents), `progress ${values}`);
    assert.ok(counts.some((c) => c?.endsWith(` of ${documents + 1} documents`)), `progress ${counts.slice(0, 5)}`);
    assert.ok(failed, "the document that failed was not shown during the sync");
    assert.match(await card(page, dir).innerText(), new RegExp(`Folder · ${documents} documents`));

    // The folder is watched: what another program changes is shown, too.
    const dialog = page.getByRole("dialog");
    const edit = async (fill) => {
      await card(page, dir).getByRole("button", { name: /^Edit: / }).click();
      await fill();
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
    };
    await edit(() => dialog.getByLabel("Watch the folder, and index changes at once").check());
    await card(page, dir).getByText("watched").waitFor(queued);
    rmSync(`${dir}/0000 damaged.pdf`);
    const left = documents - 50;
    for (const file of Object.keys(files).slice(left)) rmSync(`${dir}/${file}`);
    await card(page, dir).getByText(`${left} documents`).waitFor(queued);
    await edit(async () => {
      await axe(page, "edit a source");
      await dialog.getByLabel("Watch the folder, and index changes at once").uncheck();
      await dialog.getByLabel("Sync every").fill("2");
      await dialog.getByLabel("Unit").selectOption({ label: "days" });
    });
    await equals(async () => /every 2 days/.test(await card(page, dir).innerText()) && !/watched/.test(await card(page, dir).innerText()), true);
    await page.reload();
    await card(page, dir).getByRole("button", { name: /^Remove: / }).click();
    await dialog.getByText(`${left} documents are removed with the source`).waitFor();
    await axe(page, "remove a source");
    await dialog.getByRole("button", { name: "Remove", exact: true }).click();
    await card(page, dir).waitFor({ state: "detached", ...queued });
  },

  "a sync that fails says why": async (t) => {
    const dir = folder("away", { "quay.md": "# Quay\n\nThe quay is long.\n", "crane.md": "# Crane\n\nThe crane is tall.\n", "tug.md": "# Tug\n\nThe tug is red.\n" });
    const page = await open(t, env.keeper);
    await add(page, dir);
    await badge(page, dir, "up to date");
    rmSync(dir, { recursive: true });
    await page.getByRole("button", { name: `Sync now: ${dir}` }).click();
    await badge(page, dir, "sync failed");
    await card(page, dir).getByText("does not exist").waitFor(queued);
    assert.match(await card(page, dir).innerText(), /Folder · 3 documents\n/, "the documents are kept");
    await axe(page, "a sync that failed");
    mkdirSync(dir); // as a disk that is not mounted
    await page.getByRole("button", { name: `Sync now: ${dir}` }).click();
    await card(page, dir).getByText("3 documents were not found at this place any more").waitFor(queued);
    assert.doesNotMatch(await card(page, dir).innerText(), /--allow-removal/, "a command line for a person who uses the page");
    await axe(page, "documents that a sync has kept");
    const confirm = page.getByRole("dialog", { name: `Sync “${dir}” and remove documents?` });
    await page.getByRole("button", { name: `Sync and remove: ${dir}` }).click();
    await confirm.getByText("3 documents are removed if the sync does not find them").waitFor();
    await axe(page, "confirm a removal");
    await page.keyboard.press("Escape");
    await confirm.waitFor({ state: "detached" });
    assert.match(await card(page, dir).innerText(), /Folder · 3 documents\n/, "a removal that was not confirmed");
    await page.getByRole("button", { name: `Sync and remove: ${dir}` }).click();
    await confirm.getByRole("button", { name: "Sync and remove" }).click();
    await card(page, dir).filter({ hasText: "Folder · 0 documents" }).waitFor(queued);
    await badge(page, dir, "up to date");
    assert.match(await card(page, dir).innerText(), /Folder · 0 documents\n[^]*3 removed/);
    assert.equal(await page.getByRole("button", { name: `Sync and remove: ${dir}` }).count(), 0);
    writeFileSync(`${dir}/quay.md`, "# Quay\n\nThe quay is long.\n");
    await page.getByRole("button", { name: `Sync now: ${dir}` }).click();
    await card(page, dir).filter({ hasText: "Folder · 1 document" }).waitFor(queued); // it was up to date before, too
    await badge(page, dir, "up to date");
    await card(page, dir).getByRole("button", { name: /^Remove: / }).click();
    await page.getByRole("dialog").getByText(/\b1 document\b/).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
    await card(page, dir).waitFor({ state: "detached", ...queued });
  },

  "errors are next to their fields": async (t) => {
    const page = await open(t, env.keeper, { viewport: { width: 320, height: 640 } });
    await page.getByRole("button", { name: "Add a source" }).click();
    const dialog = page.getByRole("dialog");
    await equals(() => dialog.getByLabel("Kind").evaluate((e) => e === document.activeElement), true, "the kind has the focus");
    const refused = async (field, message) => {
      await dialog.getByRole("button", { name: "Add a source" }).click();
      await equals(() => field.getAttribute("aria-invalid"), "true", `${message}: the field is not marked`);
      const described = await field.evaluate((e) => document.getElementById(e.getAttribute("aria-describedby")).textContent);
      assert.match(described, message);
      await equals(() => field.evaluate((e) => e === document.activeElement), true, `${message}: the field has not the focus`);
      await fits(page, String(message));
    };
    const only = (name) => dialog.getByRole("textbox", { name, exact: true });
    await dialog.getByLabel("Path").fill("relative/path");
    await refused(dialog.getByLabel("Path"), /^\s*want the absolute path of a folder/);
    await axe(page, "an error at a field");
    await dialog.getByLabel("Path").fill(env.places);
    await dialog.getByLabel("Only documents that match").fill("*.md\n[");
    await refused(dialog.getByLabel("Only documents that match"), /want patterns/);
    await dialog.getByLabel("Only documents that match").fill("");
    await dialog.getByLabel("Sync every").fill("800000");
    assert.equal(await dialog.getByLabel("Sync every").evaluate((e) => e.validity.rangeOverflow), true);
    await dialog.getByLabel("Sync every").fill("400");
    await dialog.getByLabel("Unit").selectOption({ label: "days" });
    await refused(dialog.getByLabel("Sync every"), /want a duration from 1m to 8784h/);
    await dialog.getByLabel("Sync every").fill("");
    await dialog.getByText("Collection, contributor and metadata").click();
    await only("Contributor").fill("no such\u00a0account!");
    await only("Collection").fill("files");
    await dialog.getByText("Collection, contributor and metadata").click(); // they are hidden
    await refused(only("Contributor"), /want/);
    await only("Contributor").fill("");
    await refused(only("Collection"), /want the name of one collection/);
    await only("Collection").fill("");
    await dialog.getByLabel("Kind").selectOption("webdav");
    await only("URL").fill("https://ada:secret@cloud.example.org/files");
    await refused(only("URL"), /must not contain credentials/);
    await dialog.getByLabel("Kind").selectOption("imap");
    await dialog.getByLabel("Server").fill("imap.example.org");
    await only("Credentials").fill("hunter2");
    await refused(only("Credentials"), /want env:SLUICE_SOURCE_NAME/);
    for (const kind of ["git", "s3", "urls", "web"]) {
      await dialog.getByLabel("Kind").selectOption(kind);
      await fits(page, kind);
      await axe(page, kind);
    }
    await only("URL").fill("ftp://example.org/");
    await refused(only("URL"), /want a URL of http or https/);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  },

  "locations of all kinds": async (t) => {
    const page = await open(t, env.keeper);
    const sent = [];
    await page.route("**/api/sources", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      sent.push(route.request().postDataJSON());
      await route.fulfill({ status: 409, json: { error: "not added", message: "not added", code: "CONFLICT" } });
    });
    await page.getByRole("button", { name: "Add a source" }).click();
    const dialog = page.getByRole("dialog");
    const field = (name) => dialog.getByLabel(name, { exact: true });
    for (const [kind, parts, want] of [
      ["web", { URL: " https://docs.example.org/guide/ " }, "https://docs.example.org/guide/"],
      ["urls", { URLs: "https://example.org/a.pdf\nhttps://example.org/b.html \n" }, "https://example.org/a.pdf https://example.org/b.html"],
      ["git", { URL: "https://github.com/org/handbook.git", "Branch or tag (optional)": "", "Folder (optional)": "" }, "https://github.com/org/handbook.git"],
      ["git", { "Branch or tag (optional)": "release/2", "Folder (optional)": "docs/user guide" }, "https://github.com/org/handbook.git#release/2:docs/user%20guide"],
      ["s3", { Server: "s3.example.org", Bucket: "archive", "Folder (optional)": "contracts/2026" }, "s3://s3.example.org/archive/contracts/2026"],
      ["s3", { Server: "http://localhost:9000/", Bucket: "archive", "Folder (optional)": "" }, "s3+http://localhost:9000/archive"],
      ["webdav", { URL: "https://cloud.example.org/dav/files/ada" }, "webdavs://cloud.example.org/dav/files/ada"],
      ["imap", { Server: "imap.example.org", "Folder (optional)": "Verträge/2026", Credentials: "env:SLUICE_SOURCE_MAIL" }, "imaps://imap.example.org/Vertr%C3%A4ge/2026"],
    ]) {
      await dialog.getByLabel("Kind").selectOption(kind);
      for (const [name, text] of Object.entries(parts)) await field(name).fill(text);
      const before = sent.length;
      await dialog.getByRole("button", { name: "Add a source" }).click();
      await dialog.getByRole("alert").getByText("not added").waitFor();
      await equals(() => sent.length, before + 1);
      assert.equal(sent.at(-1).location, want, kind);
      assert.equal(sent.at(-1).kind, kind);
      assert.equal(sent.at(-1).credentials, kind === "imap" ? "env:SLUICE_SOURCE_MAIL" : undefined);
    }
  },

  "sources and the rights of a key": async (t) => {
    const dir = folder("rights", { "gate.md": "# Gate\n\nThe gate is green.\n" });
    const keeper = await open(t, env.keeper);
    await add(keeper, dir);
    await badge(keeper, dir, "up to date");

    let page = await open(t, await keyWith(["ask", "read"]));
    await page.getByText("you need a key with the permission write").waitFor();
    await badge(page, dir, "up to date");
    assert.equal(await page.locator("main").getByRole("button").count(), 0, "a key without the scope write can change sources");
    await axe(page, "sources, read only");

    page = await open(t, await keyWith(["ask", "read", "write"]));
    await page.getByRole("button", { name: "Add a source" }).click();
    const dialog = page.getByRole("dialog");
    assert.deepEqual(await dialog.getByLabel("Kind").locator("option").evaluateAll((all) => all.map((o) => o.value)), ["folder", "web", "urls", "git", "s3", "webdav"]);
    await dialog.getByText(`Folders can be added below ${env.places}/shared. Other folders, mailboxes and credentials of the server need a key with the permission tenants`).waitFor();
    await dialog.getByLabel("Path").fill(dir);
    await dialog.getByRole("button", { name: "Add a source" }).click();
    await dialog.getByRole("alert").getByText("read the disk of the server").waitFor();
    await axe(page, "a folder that is not shared");
    const shared = folder("shared/boats", { "boat.md": "# Boat\n\nThe boat is blue.\n" });
    await dialog.getByLabel("Path").fill(shared);
    await dialog.getByRole("button", { name: "Add a source" }).click();
    await badge(page, shared, "up to date");
    await card(page, shared).getByRole("button", { name: /^Remove: / }).click();
    await dialog.getByRole("button", { name: "Remove", exact: true }).click();
    await card(page, shared).waitFor({ state: "detached", ...queued });
    await page.getByRole("button", { name: "Add a source" }).click();
    await dialog.getByLabel("Kind").selectOption("git");
    assert.equal(await dialog.getByLabel(/Credentials/).count(), 0, "credentials of the server are offered");
    await page.keyboard.press("Escape");

    page = await open(t, await keyWith(["ask"]));
    await page.getByRole("alert").getByText("scope read").waitFor();
    assert.equal(await page.getByRole("navigation").getByRole("link", { name: "Sources" }).count(), 0, "the menu offers what the key cannot read");
    await axe(page, "sources, not permitted");
    await page.goto(env.sourced);
    await page.getByRole("navigation").waitFor();

    await keeper.getByRole("navigation").getByRole("link", { name: "Sources" }).click();
    await card(keeper, dir).getByRole("button", { name: /^Remove: / }).click();
    await keeper.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
    await card(keeper, dir).waitFor({ state: "detached", ...queued });
  },

  "folders of --docs, and their files that are not indexed": async (t) => {
    const page = await t.page(`${env.library}/sources`);
    const unread = page.getByRole("region", { name: "1 document could not be read" });
    await unread.waitFor();
    assert.match(await unread.innerText(), /\ntorn\.pdf not valid PDF/);
    const paths = page.getByRole("region", { name: "Folders and files that are no sources" });
    const row = paths.getByRole("listitem").filter({ hasText: `${env.folder} ` });
    assert.match(await row.innerText(), /\d documents? · Collection: default$/);
    assert.equal(await page.getByText("There are no sources yet.").count(), 0);
    await axe(page, "folders that are no sources");
  },
};
