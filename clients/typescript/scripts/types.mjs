// Generates src/schema.ts from the OpenAPI document of a server, which it reads from standard input. With --check, it only reports whether the file is up to date.
import { readFile, writeFile } from "node:fs/promises";
import { json } from "node:stream/consumers";
import openapiTS, { astToString } from "openapi-typescript";

const path = new URL("../src/schema.ts", import.meta.url);
// A field with a default is optional in a request.
const nodes = await openapiTS(await json(process.stdin), { defaultNonNullable: false, alphabetize: true, immutable: false });
const made = `// Made from the OpenAPI document of the server by "npm run types". Do not edit.\n\n${astToString(nodes)}`;
if (!process.argv.includes("--check")) {
  await writeFile(path, made);
} else if ((await readFile(path, "utf8").catch(() => "")) !== made) {
  console.error('src/schema.ts is out of date: run "npm run types" in clients/typescript');
  process.exitCode = 1;
}
