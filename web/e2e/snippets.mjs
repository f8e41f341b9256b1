// Prints the code of the protocol view for a server, a question and a run, as a JSON array. See snippets_test.go.
import { readFileSync } from "node:fs";
import ts from "typescript";

const compile = (text) => ts.transpileModule(text, { compilerOptions: { module: "esnext", target: "es2022" } }).outputText;
const load = (file) => import(`data:text/javascript,${encodeURIComponent(compile(readFileSync(file, "utf8")))}`);
const { askRequest, protocols, readRequest } = await load("src/builders/request.ts");
const { languages, snippet } = await load("src/builders/snippets.ts");
const { origin, run, question } = JSON.parse(process.argv[2]);

const out = [];
for (const protocol of protocols) {
  for (const [what, request] of [["ask", askRequest(protocol, question)], ["read", readRequest(run, protocol)]]) {
    if (!request) continue;
    for (const language of languages) {
      for (const keyed of [true, false]) {
        const code = snippet(language, origin, request, keyed);
        out.push({ protocol, what, language, keyed, code, ...(language === "typescript" && { compiled: compile(code) }) });
      }
    }
  }
}
console.log(JSON.stringify(out));
