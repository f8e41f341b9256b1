// The documents: suggested questions, the list with its dialogs, and the viewer with the cited sentence and the pages of a PDF.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import assert from "node:assert/strict";
import { answered, ask, env, equals, fits, until } from "./stage.mjs";

// What the server of these scenarios holds depends on their order, so each looks only at files of its own.
const upload = async (page, files) => {
  await page.locator("input[type=file]").first().setInputFiles(files.map(([name, mimeType, text]) => ({ name, mimeType, buffer: Buffer.from(text) })));
  await page.locator("section progress").first().waitFor({ state: "detached" });
};

// A PDF with one line on each page.
function pdf(lines) {
  const objects = [`<< /Type /Catalog /Pages 2 0 R >>`, `<< /Type /Pages /Count ${lines.length} /Kids [${lines.map((_, i) => `${4 + 2 * i} 0 R`).join(" ")}] >>`, `<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>`];
  for (const [i, line] of lines.entries()) {
    const content = `BT /F1 18 Tf 72 700 Td (${line}) Tj ET`;
    objects.push(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * i} 0 R >>`, `<< /Length ${content.length} >>\nstream\n${content}\nendstream`);
  }
  let out = "%PDF-1.4\n";
  const offsets = objects.map((o, i) => {
    const at = out.length;
    out += `${i + 1} 0 obj\n${o}\nendobj\n`;
    return at;
  });
  const xref = out.length;
  return `${out}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.map((o) => `${String(o).padStart(10, "0")} 00000 n \n`).join("")}trailer << /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${xref}\n%%EOF`;
}

export default {
  "suggested questions": async (t) => {
    const page = await t.page(`${env.library}/documents`);
    await upload(page, [
      ["pool.md", "text/markdown", "# Pool\n\nA locker costs €1 per day. The pool opens at 8 in the morning.\n"],
      ["coffee.md", "text/markdown", "# Coffee machine\n\nTo reset the coffee machine, hold the button for ten seconds. The warranty period is two years.\n"],
    ]);
    await page.getByRole("link", { name: "New question" }).first().click();
    const question = page.getByRole("button", { name: "How do I reset the coffee machine?" });
    await question.waitFor();
    await question.click();
    await answered(page);
    assert.match(await page.getByRole("group", { name: "Answer" }).innerText(), /hold the button for ten seconds/);
  },

  "list of documents": async (t) => {
    const page = await t.page(`${env.library}/documents`);
    await upload(page, [["ferry timetable.md", "text/markdown", "# Ferry\n\nThe ferry leaves at nine.\n"], ["damaged ferry.pdf", "application/pdf", "%PDF-1.4 not really"]]);
    await page.getByText("1 could not be read").waitFor();
    const search = page.getByRole("searchbox", { name: "Search by name or title" });
    await search.fill("ferry");
    await page.getByText("1 to 2 of 2").waitFor();
    await page.getByRole("combobox", { name: "Status" }).selectOption("failed");
    await page.getByText("1 to 1 of 1").waitFor();
    await page.locator("td").getByText("not valid PDF").waitFor();
    await page.getByRole("button", { name: "Try again: damaged ferry.pdf" }).click();
    await page.locator("td").getByText("not valid PDF").waitFor();
    await page.getByRole("button", { name: "Delete: damaged ferry.pdf" }).click();
    const dialog = page.getByRole("dialog");
    await equals(() => dialog.getByRole("button", { name: "Cancel" }).evaluate((e) => e === document.activeElement), true, "the harmless choice has the focus");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Delete: damaged ferry.pdf" }).click();
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("Nothing found.").waitFor();
    await page.getByRole("button", { name: "Clear the filters" }).click();
    await search.fill("timetable");
    await page.getByRole("button", { name: "Edit: ferry timetable.md" }).click();
    await dialog.getByLabel("Title").fill("When the ferry leaves");
    await dialog.getByLabel("Author").fill("Harbour office");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("link", { name: "When the ferry leaves" }).click();
    await page.getByRole("heading", { level: 1, name: "When the ferry leaves" }).waitFor();
    await page.getByText("About the document").click();
    await page.getByText("Harbour office").waitFor();
    await page.getByRole("link", { name: "Documents" }).first().click();
    await page.getByRole("button", { name: "New collection" }).click();
    await dialog.getByLabel("Name").fill("Harbour");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.waitFor({ state: "detached" });
    await upload(page, [["pier.md", "text/markdown", "# Pier\n\nThe pier is 40 metres long.\n"]]);
    await page.getByRole("combobox", { name: "Filter: Collection" }).selectOption({ label: "Harbour (1)" });
    await page.getByText("1 to 1 of 1").waitFor();
    await equals(() => page.getByRole("link", { name: "Pier" }).count(), 1);
  },

  "original of a folder, which changes": async (t) => {
    const page = await t.page(`${env.library}/documents`);
    await page.getByRole("searchbox", { name: "Search by name or title" }).fill("tides");
    await page.locator("td").getByRole("link", { name: /^tides/ }).click();
    await page.getByRole("button", { name: "Pages", exact: true }).click();
    await page.locator("[data-page='1'] .textLayer").getByText("High water is at noon").waitFor();
    const link = page.getByRole("link", { name: "Download the file" });
    const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
    assert.equal(download.suggestedFilename(), "tides.pdf");
    assert.deepEqual(readFileSync(await download.path()), readFileSync(`${env.folder}/tides.pdf`));
    writeFileSync(`${env.folder}/tides.pdf`, readFileSync(`${env.folder}/tides.pdf`, "latin1").replace("noon", "five"));
    await link.click();
    await page.getByRole("alert").getByText("The file has changed in its folder").waitFor();
    await page.reload(); // with the pages
    await page.getByRole("alert").getByText("The file has changed in its folder").waitFor();
    rmSync(`${env.folder}/tides.pdf`);
    await page.reload();
    await page.getByRole("alert").getByText("The file is not in its folder any more.").waitFor();
  },

  "the way back to a long list": async (t) => {
    const page = await t.page(`${env.library}/documents`);
    await page.route("**/api/documents?*", async (route) => { // 250 documents, which would take long to upload
      const response = await route.fetch();
      const list = await response.json();
      const from = Number(new URL(route.request().url()).searchParams.get("offset"));
      if (list.total) list.documents = Array.from({ length: 100 }, (_, i) => ({ type: "text/markdown", id: `d${from + i}`, name: `long list ${from + i}.md`, title: `Long list ${from + i}`, status: "ready", bytes: 1, added: "2026-01-02T03:04:05Z" }));
      await route.fulfill({ response, json: { ...list, total: 250 } });
    });
    await page.getByRole("searchbox", { name: "Search by name or title" }).fill("m");
    await until(page, () => location.search.includes("q=m"));
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByText("101 to 200 of 250").waitFor();
    const shown = await page.getByRole("link", { name: "Long list 100", exact: true }).evaluate((e) => e.getBoundingClientRect().top);
    assert.ok(shown > 0 && shown < 700, `the next page begins at ${shown}`);
    await page.getByRole("link", { name: "Long list 101", exact: true }).click();
    await page.getByRole("alert").waitFor(); // it is made up
    await page.goBack();
    await page.getByText("101 to 200 of 250").waitFor();
    assert.equal(await page.getByRole("searchbox", { name: "Search by name or title" }).inputValue(), "m");
  },

  "long file name": async (t) => {
    const page = await t.page(`${env.library}/documents`);
    const name = `${"wave".repeat(45)}.md`;
    await upload(page, [[name, "text/markdown", "# Waves\n\nThe highest wave of the year was six metres.\n"]]);
    await page.getByRole("searchbox", { name: "Search by name or title" }).fill("wavewave");
    await page.getByText("1 to 1 of 1").waitFor();
    await fits(page, "list");
    await page.locator("td").getByRole("link").click();
    await page.locator("article section").first().waitFor();
    await fits(page, "document");
  },

  "text from right to left": async (t) => {
    const page = await t.page(`${env.library}/documents`);
    await upload(page, [["دليل.md", "text/markdown", "# دليل النادي\n\nتبلغ رسوم العضوية ٢٥ دينارا في الشهر. يفتح النادي في الساعة الثامنة صباحا.\n"]]);
    await page.getByRole("link", { name: "New question" }).first().click();
    const box = page.getByLabel("Question", { exact: true });
    await box.fill("كم تبلغ رسوم العضوية؟");
    const direction = (l) => l.evaluate((e) => getComputedStyle(e).direction);
    assert.equal(await direction(box), "rtl", "the question box");
    await page.keyboard.press("Enter");
    await answered(page);
    assert.equal(await direction(page.getByRole("heading", { level: 2, name: "كم تبلغ رسوم العضوية؟" })), "rtl", "the question");
    assert.equal(await direction(page.getByRole("group", { name: "Answer" }).getByText("دينارا")), "rtl", "the answer");
    assert.equal(await direction(page.getByRole("navigation").getByText("كم تبلغ رسوم العضوية؟")), "rtl", "the conversation");
    await page.getByRole("button", { name: "Source 1" }).first().click();
    assert.equal(await direction(page.getByRole("dialog").locator("blockquote")), "rtl", "the source");
    await page.getByRole("link", { name: "Open the document" }).click();
    assert.equal(await direction(page.getByRole("heading", { level: 1, name: "دليل النادي" })), "rtl", "the title");
    assert.equal(await direction(page.locator("article p").filter({ hasText: "دينارا" })), "rtl", "the text");
    assert.equal(await direction(page.locator("main")), "ltr", "the rest of the page");
  },

  "leaving while files are sent": async (t) => {
    const page = await t.page(`${env.library}/documents`);
    const asks = () => page.evaluate(() => !dispatchEvent(new Event("beforeunload", { cancelable: true })));
    let go;
    const held = new Promise((r) => (go = r));
    await page.route("**/v1/files", async (route) => { await held; await route.continue(); });
    assert.equal(await asks(), false);
    await page.locator("input[type=file]").first().setInputFiles([{ name: "anchor.md", mimeType: "text/markdown", buffer: Buffer.from("# Anchor\n\nThe anchor weighs 80 kilos.\n") }]);
    await page.locator("section progress").first().waitFor();
    assert.equal(await asks(), true);
    go();
    await page.locator("section progress").first().waitFor({ state: "detached" });
    assert.equal(await asks(), false);
  },

  "cited sentence in its document": async (t) => {
    const page = await t.page(`${env.library}/documents`);
    await upload(page, [["lighthouse.pdf", "application/pdf", pdf(["The lighthouse was built of granite.", "The lamp of the lighthouse is lit by Ada Flint."])]]);
    await page.getByRole("link", { name: "New question" }).first().click();
    await ask(page, "Who lights the lamp of the lighthouse?");
    await answered(page);
    await page.getByRole("button", { name: "Source 1" }).first().click();
    await page.getByRole("dialog").getByRole("link", { name: "Open the document" }).click();
    const mark = page.locator("article mark");
    await mark.first().waitFor();
    assert.match((await mark.allInnerTexts()).join(" "), /lit by Ada Flint/);
    await page.getByRole("button", { name: "Show the passages" }).click();
    await page.getByText("Passage 1").waitFor();
    await page.getByRole("button", { name: "Pages", exact: true }).click();
    const drawn = page.locator("[data-page='2'] .textLayer mark");
    await drawn.first().waitFor();
    assert.match((await drawn.allTextContents()).join(" "), /lit by Ada Flint/);
    const inked = await page.locator("[data-page='2'] canvas").evaluate((c) => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v, i) => i % 4 < 3 && v < 100));
    assert.ok(inked, "the page is drawn");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download the file" }).click()]);
    assert.equal(download.suggestedFilename(), "lighthouse.pdf");
    await page.goto(page.url().replace(/chunk=[^&]+/, "chunk=c_gone").replace("&view=pages", ""));
    await page.getByText("The cited passage is no longer in this document").waitFor();
  },
};
