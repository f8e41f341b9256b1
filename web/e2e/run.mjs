// Runs the scenarios in one Chromium: a name of a scenario per line of the input, a result as JSON per line of the output. The first line of the output
// is the list of the scenarios. See e2e_test.go.
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { env, Stage } from "./stage.mjs";

const files = ["performance", "asking", "answers", "sessions", "connection", "login", "tenants", "layout", "languages", "documents", "sources", "hostile", "builders", "frames", "compare", "embed", "axe", "images"];
const scenarios = new Map();
for (const file of files) {
  const module = await import(`./${file}.mjs`);
  for (const [name, run] of Object.entries(module.default)) scenarios.set(name, { run, alone: module.alone ?? false, image: module.image ?? false });
}

const browser = await chromium.launch({ executablePath: env.chromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");
say([...scenarios].map(([name, s]) => ({ Name: name, Alone: s.alone, Image: s.image })));

const running = new Set();
for await (const name of createInterface({ input: process.stdin })) {
  const work = run(name).then(say);
  running.add(work);
  void work.finally(() => running.delete(work));
}
await Promise.all(running);
await browser.close();

async function run(name) {
  const stage = new Stage(browser, name);
  const began = Date.now();
  let error = "";
  try {
    await within(120_000, scenarios.get(name).run(stage));
  } catch (err) {
    error = String(err?.stack ?? err);
  }
  const faults = stage.faults.join("\n");
  if (faults) error = [error, faults].filter(Boolean).join("\n");
  const Screenshot = error ? await stage.screenshot() : "";
  await stage.close();
  return { Name: name, Error: error, Screenshot, Note: [stage.note, `${Date.now() - began} ms`].filter(Boolean).join("; "), Console: stage.console };
}

async function within(ms, work) {
  let timer;
  const late = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error(`not done after ${ms} ms`)), ms)));
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
