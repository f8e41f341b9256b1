// The pictures of the documentation, over its own pages: make screenshots.
import { answered, env, unanswerable } from "./stage.mjs";

export const image = true;

const window = { viewport: { width: 1280, height: 800 } };
const shoot = (page, name) => page.screenshot({ path: `${env.images}/page-${name}.png`, animations: "disabled", caret: "hide" });
const top = (page) => page.evaluate(() => scrollTo(0, 0));

export default {
  "pictures": async (t) => {
    let page = await t.page(env.main, window);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForLoadState("networkidle");
    await shoot(page, "ask");
    await page.getByLabel("Question", { exact: true }).fill("What is a snapshot and how is it different from a cursor?");
    await page.keyboard.press("Enter");
    await answered(page);
    await top(page);
    await shoot(page, "answer");
    const link = page.url();
    await page.locator("button.citation").first().click();
    await page.getByRole("dialog").waitFor();
    await shoot(page, "source");
    await page.goto(`${env.main}/documents`);
    await page.waitForLoadState("networkidle");
    await shoot(page, "documents");
    page = await t.page(link, { ...window, colorScheme: "dark" });
    await answered(page);
    await top(page);
    await shoot(page, "dark");
    page = await t.page(link, { viewport: { width: 360, height: 720 } });
    await answered(page);
    await top(page);
    await shoot(page, "narrow");
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
