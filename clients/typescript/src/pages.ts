/** A page of a list. */
interface Page<T> {
  data: T[];
  has_more: boolean;
  last_id?: string;
}

/** Yields the entries of all pages of a list. */
export async function* paged<T>(get: (query: { after?: string; limit: number }) => Promise<Page<T>>): AsyncGenerator<T, void, undefined> {
  let after: string | undefined;
  for (;;) {
    const page = await get({ limit: 100, ...(after !== undefined && { after }) });
    yield* page.data;
    if (!page.has_more || !page.last_id || page.last_id === after) return;
    after = page.last_id;
  }
}
