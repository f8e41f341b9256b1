import { onDestroy, onMount } from "svelte";

/** Data that a part of the page loads, again and again if an interval in milliseconds is given and the page can be seen. */
export class Loaded<T> {
  value = $state.raw<T>();
  error = $state<string>();
  readonly #load: () => Promise<T>;

  constructor(load: () => Promise<T>, interval = 0) {
    this.#load = load;
    let timer: ReturnType<typeof setInterval> | undefined;
    onMount(() => {
      void this.refresh();
      if (interval) timer = setInterval(() => !document.hidden && void this.refresh(), interval);
    });
    onDestroy(() => clearInterval(timer));
  }

  async refresh(): Promise<void> {
    try {
      this.value = await this.#load();
      this.error = undefined;
    } catch (err) {
      this.error = err instanceof Error ? err.message : String(err);
    }
  }
}
