import { mount } from "svelte";
import App from "./App.svelte";
import { selectLanguage } from "./lib/i18n.svelte.js";
import { applyTheme } from "./lib/theme.svelte.js";
import "./styles/base.css";

applyTheme();
await selectLanguage();
mount(App, { target: document.getElementById("app")! });
