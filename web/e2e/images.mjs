// The pictures of the documentation, over its own pages: make screenshots.
import { mkdirSync, writeFileSync } from "node:fs";
import { answered, env, unanswerable } from "./stage.mjs";

export const image = true;

const window = { viewport: { width: 1280, height: 800 } };
const shoot = (page, name) => page.screenshot({ path: `${env.images}/page-${name}.png`, animations: "disabled", caret: "hide" });
const top = (page) => page.evaluate(() => scrollTo(0, 0));

// The sources of documents: one with a document that cannot be read, and one that is being synced.
async function shootSources(t) {
  const page = await t.page(`${env.sourced}/sources`, window);
  await page.getByLabel("API key").fill(env.keeper);
  await page.getByRole("button", { name: "Sign in" }).click();
  const add = async (location, every, include = "") => {
    await page.getByRole("button", { name: "Add a source" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Kind").selectOption("folder");
    await dialog.getByLabel("Path").fill(location);
    await dialog.getByLabel("Only documents that match").fill(include);
    if (every) await dialog.getByLabel("Sync every").fill(every);
    else await dialog.getByLabel("Watch the folder").check();
    await dialog.getByRole("button", { name: "Add a source" }).click();
    await dialog.waitFor({ state: "detached" });
  };
  for (const [name, files] of [["contracts", 3], ["handbook", 12], ["archive", 2000]]) {
    mkdirSync(`${env.places}/${name}`);
    for (let i = 0; i < files; i++) writeFileSync(`${env.places}/${name}/${name}-${i}.md`, `# Part ${i}\n\n${`The part number ${i} is about the harbour and its fees. `.repeat(100)}\n`);
  }
  writeFileSync(`${env.places}/contracts/crane lease.pdf`, "%PDF-1.7 and nothing else");
  await add(`${env.places}/contracts`, "6");
  await add(`${env.places}/handbook`, "", "*.md");
  await page.getByText("incomplete").waitFor();
  await page.getByText("up to date").waitFor();
  await add(`${env.places}/archive`, "1");
  await page.getByText(/^[2-9]\d\d of 2,000 documents$/).first().waitFor();
  await page.evaluate((places) => {
    for (const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); all.nextNode(); ) all.currentNode.data = all.currentNode.data.replaceAll(places, "/srv");
  }, env.places);
  await shoot(page, "sources");
}

export default {
  "pictures": async (t) => {
    let page = await t.page(env.main, window);
    await page.getByLabel("Question", { exact: true }).fill("What happens to a slow reader, and how long does the server keep a run?");
    await page.keyboard.press("Enter");
    await answered(page);
    await top(page);
    await shoot(page, "answer");
    await shootSources(t);
    page = await t.asked(env.main, unanswerable, window);
    await answered(page);
    await top(page);
    await shoot(page, "refused");
    const question = "What does a ship pay for its stay in the harbour?";
    await t.script(question, ["A ship pays **12 euros** for each metre of its length ⟦1⟧. ", "Fishing boats pay half."], { hold: 1 });
    page = await t.asked(env.fragile, question, window);
    await page.getByText("12 euros").first().waitFor();
    await t.kill();
    await page.getByText("The server cannot be reached").waitFor();
    await shoot(page, "offline");
  },
};
