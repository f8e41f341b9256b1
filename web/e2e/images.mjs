// The pictures of the documentation: make screenshots.
import { answered, env } from "./stage.mjs";

export const image = true;

const q = "What does a ship pay in the harbour?";
const text = ["A ship pays **12 euros for each metre of its length** ⟦1⟧.", " Fishing boats from the town pay half of that ⟦1⟧. From November to March, sailing boats use the harbour free of charge ⟦2⟧.\n\n",
  "| Ship | Fee for each metre |\n| --- | --- |\n| others | 12 euros |\n| fishing boats from the town | 6 euros |\n"];
const shoot = (page, name) => page.screenshot({ path: `${env.images}/page-${name}.png`, animations: "disabled", caret: "hide" });
const settle = (page) => page.waitForLoadState("networkidle");

export default {
  "pictures": async (t) => {
    await t.script(q, text);
    let page = await t.page(env.main, { viewport: { width: 1280, height: 760 } });
    await page.getByRole("heading", { level: 1 }).waitFor();
    await settle(page);
    await shoot(page, "ask");
    await page.getByLabel("Question", { exact: true }).fill(q);
    await page.keyboard.press("Enter");
    await answered(page);
    await page.evaluate(() => scrollTo(0, 0));
    await shoot(page, "answer");
    const link = page.url();
    await page.getByRole("button", { name: "Source 1" }).first().click();
    await page.getByRole("dialog").waitFor();
    await shoot(page, "source");
    await page.goto(`${env.main}/documents`);
    await settle(page);
    await shoot(page, "documents");
    page = await t.page(link, { viewport: { width: 1280, height: 760 }, colorScheme: "dark" });
    await answered(page);
    await page.evaluate(() => scrollTo(0, 0));
    await shoot(page, "dark");
    page = await t.page(link, { viewport: { width: 360, height: 720 } });
    await answered(page);
    await page.evaluate(() => scrollTo(0, 0));
    await shoot(page, "narrow");
  },
};
