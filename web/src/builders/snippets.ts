import type { Request } from "./request.js";

export const languages = ["curl", "go", "typescript", "python"] as const;
export type Language = (typeof languages)[number];

/** Returns a command or a program that sends a request to a server and prints the stream of the reply. With keyed, it sends the key in SLUICE_KEY. */
export function snippet(language: Language, origin: string, request: Request, keyed: boolean): string {
  return write[language](origin, request, keyed);
}

const marker = "{session}";
const inSession = (r: Request) => r.path.includes(marker);

/** Quotes a text for a shell. */
const shell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
/** Quotes a text for Go: without escapes if possible, because JSON has many quotes. */
const goText = (text: string) => (/[`\r\0\ufeff]/.test(text) ? JSON.stringify(text) : `\`${text}\``);

/** Writes JSON as a literal of Python. */
function python(v: unknown): string {
  if (v === null || v === undefined) return "None";
  if (typeof v === "boolean") return v ? "True" : "False";
  if (Array.isArray(v)) return `[${v.map(python).join(", ")}]`;
  if (typeof v === "object") return `{${Object.entries(v).map(([k, x]) => `${JSON.stringify(k)}: ${python(x)}`).join(", ")}}`;
  return JSON.stringify(v);
}

const write: Record<Language, (origin: string, r: Request, keyed: boolean) => string> = {
  curl(origin, r, keyed) {
    const key = keyed ? ` \\\n  -H "Authorization: Bearer $SLUICE_KEY"` : "";
    const json = ` \\\n  -H 'Content-Type: application/json' -d `;
    const session = inSession(r) ? `SESSION=$(curl -fsS ${shell(origin + "/v1/rag/sessions")}${key}${json}'{}' | sed 's/.*"session_id":"\\([^"]*\\)".*/\\1/')\n` : "";
    const url = inSession(r) ? `"${origin}${r.path.replace(marker, "$SESSION")}"` : shell(origin + r.path);
    return `${session}curl -N ${url}${key}${r.body === undefined ? "" : json + shell(JSON.stringify(r.body))}\n`;
  },

  go(origin, r, keyed) {
    const session = inSession(r);
    const url = JSON.stringify(origin + r.path).replace(marker, `"+session.ID+"`);
    const send = (name: string, method: string, url: string, body: string) => [
      `	request, err ${name} http.NewRequest("${method}", ${url}, ${body})`,
      `	check(err)`,
      ...(r.body === undefined ? [] : [`	request.Header.Set("Content-Type", "application/json")`]),
      ...(keyed ? [`	request.Header.Set("Authorization", "Bearer "+os.Getenv("SLUICE_KEY"))`] : []),
      `	response, err ${name} http.DefaultClient.Do(request)`,
      `	check(err)`,
    ];
    const imports = [...(session ? ["encoding/json"] : []), "io", "log", "net/http", "os", ...(r.body === undefined ? [] : ["strings"])];
    return [
      `package main`, ``, `import (`, ...imports.map((i) => `	"${i}"`), `)`, ``,
      `func main() {`,
      ...(session
        ? [...send(":=", "POST", JSON.stringify(`${origin}/v1/rag/sessions`), `strings.NewReader("{}")`), `	var session struct {`, `		ID string \`json:"session_id"\``, `	}`, `	check(json.NewDecoder(response.Body).Decode(&session))`, ``]
        : []),
      ...(session ? send("=", r.method, url, `strings.NewReader(${goText(JSON.stringify(r.body))})`) : send(":=", r.method, url, r.body === undefined ? "nil" : `strings.NewReader(${goText(JSON.stringify(r.body))})`)),
      `	defer response.Body.Close()`,
      `	_, err = io.Copy(os.Stdout, response.Body)`,
      `	check(err)`,
      `}`, ``,
      `func check(err error) {`, `	if err != nil {`, `		log.Fatal(err)`, `	}`, `}`, ``,
    ].join("\n");
  },

  typescript(origin, r, keyed) {
    const headers = [...(r.body === undefined ? [] : [`"Content-Type": "application/json"`]), ...(keyed ? ["Authorization: `Bearer ${process.env.SLUICE_KEY}`"] : [])];
    const options = (method: string, body: string) => [
      ...(method === "GET" ? [] : [`  method: "${method}",`]),
      ...(headers.length ? [`  headers: { ${headers.join(", ")} },`] : []),
      ...(body ? [`  body: JSON.stringify(${body}),`] : []),
    ];
    const fetching = (name: string, url: string, o: string[]) => (o.length ? [`const ${name} = await fetch(${url}, {`, ...o, `});`] : [`const ${name} = await fetch(${url});`]);
    const url = inSession(r) ? `\`${origin}${r.path.replace(marker, "${session_id}")}\`` : JSON.stringify(origin + r.path);
    return [
      ...(inSession(r) ? [...fetching("created", JSON.stringify(`${origin}/v1/rag/sessions`), options("POST", "{}")), `const { session_id } = await created.json();`] : []),
      ...fetching("response", url, options(r.method, r.body === undefined ? "" : JSON.stringify(r.body))),
      `const decoder = new TextDecoder();`,
      `for await (const bytes of response.body!) process.stdout.write(decoder.decode(bytes, { stream: true }));`, ``,
    ].join("\n");
  },

  python(origin, r, keyed) {
    const headers = [...(r.body === undefined ? [] : [`"Content-Type": "application/json"`]), ...(keyed ? [`"Authorization": "Bearer " + os.environ["SLUICE_KEY"]`] : [])];
    const given = headers.length ? `, headers={${headers.join(", ")}}` : "";
    const url = JSON.stringify(origin + r.path).replace(marker, `" + session + "`);
    const modules = [...(r.body === undefined ? [] : ["json"]), ...(keyed ? ["os"] : []), "urllib.request"];
    return [
      `import ${modules.join(", ")}`, ``,
      ...(inSession(r)
        ? [`created = urllib.request.Request(${JSON.stringify(`${origin}/v1/rag/sessions`)}, data=b"{}"${given})`, `session = json.load(urllib.request.urlopen(created))["session_id"]`]
        : []),
      ...(r.body === undefined ? [] : [`question = ${python(r.body)}`]),
      `request = urllib.request.Request(${url}${r.body === undefined ? "" : ", data=json.dumps(question).encode()"}${given})`,
      `with urllib.request.urlopen(request) as stream:`,
      `    for line in stream:`,
      `        print(line.decode(), end="", flush=True)`, ``,
    ].join("\n");
  },
};
