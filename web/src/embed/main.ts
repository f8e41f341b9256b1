// The script for other web pages: <script src="https://SERVER/embed.js" data-collection="…" data-key="…"></script>. It defines the element
// <sluice-chat>, and adds one to the page if the script has a collection or a key.
import { setServer, SluiceChat } from "./chat.js";

const script = document.currentScript as HTMLScriptElement | null;
if (script?.src) setServer(new URL(".", script.src).href);
if (!customElements.get("sluice-chat")) customElements.define("sluice-chat", SluiceChat);

function add(data: DOMStringMap): void {
  const chat = document.createElement("sluice-chat");
  for (const name of ["collection", "key", "server", "mode", "heading", "language", "theme"]) {
    const value = data[name];
    if (value !== undefined) chat.setAttribute(name, value);
  }
  const target = data["target"] === undefined ? undefined : document.querySelector(data["target"]);
  if (target === null) return console.warn(`sluice-chat: the page has no element ${data["target"]}`);
  if (target) chat.setAttribute("inline", "");
  (target ?? document.body).append(chat);
}

if (script && (script.dataset["collection"] !== undefined || script.dataset["key"] !== undefined)) {
  const { dataset } = script;
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => add(dataset), { once: true });
  else add(dataset);
}
