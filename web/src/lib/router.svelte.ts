/** The path of the page, without a trailing slash. */
let path = $state(clean(location.pathname));
let query = $state.raw(new URLSearchParams(location.search));
let visit = $state(0);

function clean(p: string): string {
  return p.length > 1 ? p.replace(/\/+$/, "") : p;
}

function read(): void {
  path = clean(location.pathname);
  query = new URLSearchParams(location.search);
}
addEventListener("popstate", () => {
  if (clean(location.pathname) !== path) visit++; // otherwise only the part after # has changed
  read();
});

export const currentPath = (): string => path;
/** The number of pages shown so far. The same path shown again counts, so that "New question" begins again. */
export const visits = (): number => visit;
export const parameter = (name: string): string | null => query.get(name);

/** Shows another page. */
export function go(to: string, o: { replace?: boolean } = {}): void {
  if (o.replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  visit++;
  read();
  scrollTo(0, 0);
}

/** Gives the page that is shown another path, such as that of the session that it has just made. */
export function rename(to: string): void {
  history.replaceState(null, "", to);
  read();
}

/** Returns the part of the path after a prefix such as "/runs/", decoded; undefined if the path is another. */
export function after(prefix: string): string | undefined {
  if (!path.startsWith(prefix) || path.length === prefix.length) return undefined;
  try {
    return decodeURIComponent(path.slice(prefix.length));
  } catch {
    return undefined;
  }
}

// Paths that the server answers, not the page.
const outside = /^\/(api|v1|docs|auth|openapi\.json|metrics|assets|functions|forrst)(\/|$)/;

/** Links within the page do not load it again. */
addEventListener("click", (e) => {
  const a = (e.target as Element).closest?.("a[href]") as HTMLAnchorElement | null;
  if (!a || e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || a.target || a.hasAttribute("download")) return;
  const url = new URL(a.href);
  if (url.origin !== location.origin || outside.test(url.pathname) || (url.hash && url.pathname === location.pathname)) return;
  e.preventDefault();
  go(url.pathname + url.search + url.hash);
});
