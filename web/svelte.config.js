import { vitePreprocess } from "@sveltejs/vite-plugin-svelte";

// Styles go to files: the Content-Security-Policy permits no inline styles.
export default { preprocess: vitePreprocess(), compilerOptions: { css: "external", runes: true } };
