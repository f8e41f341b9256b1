// Generates src/schema.ts from openapi.json. With --check, it only reports whether the file is up to date.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const at = (path) => new URL(`../${path}`, import.meta.url);
const document = JSON.parse(await readFile(at("openapi.json"), "utf8"));
// A field with a default is optional in a request.
const nodes = await openapiTS(document, { defaultNonNullable: false, alphabetize: true, immutable: false });
const made = `// Made from openapi.json by "npm run types". Do not edit.\n\n${astToString(nodes)}`;
if (!process.argv.includes("--check")) {
  await writeFile(at("src/schema.ts"), made);
} else if ((await readFile(at("src/schema.ts"), "utf8").catch(() => "")) !== made) {
  console.error('src/schema.ts is out of date: run "npm run types" in clients/typescript');
  process.exitCode = 1;
}
