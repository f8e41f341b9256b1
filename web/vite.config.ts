import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { build, defineConfig, type Plugin } from "vite";

// stamp writes the hash of the sources beside the built files. A test of the package compares it, so that stale files are noticed without Node.
function stamp(): Plugin {
  const roots = ["src", "public", "../clients/typescript/src"];
  const single = ["index.html", "package-lock.json", "svelte.config.js", "vite.config.ts"];
  const hash = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");
  return {
    name: "stamp",
    apply: "build",
    closeBundle() {
      const names = roots.flatMap((root) => readdirSync(root, { recursive: true, withFileTypes: true }).filter((e) => e.isFile()).map((e) => `${e.parentPath}/${e.name}`));
      const lines = [...names, ...single].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))).map((name) => `${name} ${hash(readFileSync(name))}\n`);
      writeFileSync("dist/sources.sha256", hash(lines.join("")) + "\n");
    },
  };
}

// embed builds the script for other web pages, which is one file with a fixed name and needs no module loader.
function embed(): Plugin {
  return {
    name: "embed",
    apply: "build",
    async closeBundle() {
      await build({
        configFile: false, logLevel: "warn",
        build: {
          target: "es2022", cssTarget: ["chrome123", "firefox120", "safari17.5"], outDir: "dist", emptyOutDir: false, // all of them know light-dark()
          copyPublicDir: false, reportCompressedSize: false,
          lib: { entry: "src/embed/main.ts", formats: ["iife"], name: "SluiceEmbed", fileName: () => "embed.js" },
        },
      });
    },
  };
}

export default defineConfig({
  plugins: [svelte(), embed(), stamp()],
  build: { target: "es2022", modulePreload: { polyfill: false }, assetsInlineLimit: 0, reportCompressedSize: false },
  // For npm run dev: the server runs beside it.
  server: { proxy: { "^/(api|v1|runs/.*/(stream|cancel)|auth|docs|readyz|healthz|openapi.json)": "http://127.0.0.1:8000" } },
});
