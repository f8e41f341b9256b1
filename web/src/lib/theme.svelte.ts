export type Theme = "system" | "light" | "dark";

const stored = localStorage.getItem("theme");
let theme = $state<Theme>(stored === "light" || stored === "dark" ? stored : "system");

export const currentTheme = (): Theme => theme;

/** Sets the appearance of the page. */
export function applyTheme(next: Theme = theme): void {
  theme = next;
  if (next === "system") {
    localStorage.removeItem("theme");
    delete document.documentElement.dataset["theme"];
  } else {
    localStorage.setItem("theme", next);
    document.documentElement.dataset["theme"] = next;
  }
}
