// The languages of the page.
import assert from "node:assert/strict";
import { answered, env, fits, until } from "./stage.mjs";

const samples = { de: ["Frage", "Einstellungen", "Menü"], fr: ["Question", "Options", "Menu"], es: ["Pregunta", "Opciones", "Menú"] };

const inLanguage = (code, locale) => async (t) => {
  const page = await t.page(env.main, { locale, viewport: { width: 320, height: 640 } });
  const [question, , menu] = samples[code];
  const box = page.locator("#question");
  await box.waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), code);
  await page.getByLabel(question, { exact: true }).waitFor();
  await fits(page, `${code}: start`);
  await page.locator("button[aria-controls=options]").click();
  await fits(page, `${code}: options`);
  await page.getByRole("button", { name: menu }).first().click();
  await until(page, () => document.querySelector("nav").getBoundingClientRect().left >= 0); // the menu slides in
  await fits(page, `${code}: menu`);
  await page.keyboard.press("Escape");
  await box.fill(`What does a ship pay in ${code}?`);
  await page.keyboard.press("Enter");
  await page.locator("article[aria-busy=false] footer").waitFor();
  await fits(page, `${code}: answer`);
  await page.locator("article details.narrow > summary").click();
  for (const s of await page.locator("article details.narrow li > details > summary").all()) await s.click();
  await fits(page, `${code}: steps`);
  await page.locator("button.citation").first().click();
  await page.getByRole("dialog").waitFor();
  await fits(page, `${code}: source`);
  await page.goto(`${env.main}/documents`);
  await page.locator("h1").waitFor();
  await fits(page, `${code}: documents`);
  await page.goto(`${env.main}/sources`);
  await page.locator("header button.primary").click();
  for (const kind of ["git", "s3", "urls"]) {
    await page.locator("dialog select").first().selectOption(kind);
    await fits(page, `${code}: add a source, ${kind}`);
  }
  await page.goto(`${env.main}/admin`);
  await page.locator("h1").waitFor();
  await page.waitForLoadState("networkidle");
  await fits(page, `${code}: administration`);
  await page.goto(env.empty);
  await page.locator("h1").waitFor();
  await fits(page, `${code}: without documents`);
  await page.goto(env.keyed);
  await page.locator("input[type=password]").waitFor();
  await fits(page, `${code}: login`);
};

export default {
  "German at 320 pixels": inLanguage("de", "de-DE"),
  "French at 320 pixels": inLanguage("fr", "fr-CA"),
  "Spanish at 320 pixels": inLanguage("es", "es-MX"),

  "the language is chosen and kept": async (t) => {
    const page = await t.page(env.main);
    await page.getByLabel("Language", { exact: true }).selectOption("de");
    await page.getByRole("heading", { name: "Was möchten Sie wissen?" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Was möchten Sie wissen?" }).waitFor();
    await page.getByLabel("Sprache", { exact: true }).selectOption("en");
    await page.getByRole("heading", { name: "What would you like to know?" }).waitFor();
    await page.getByLabel("Question", { exact: true }).fill("What does a ship pay in English?");
    await page.keyboard.press("Enter");
    await answered(page);
  },
};
