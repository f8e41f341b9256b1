import type { SessionMessage, TurnRequest } from "../../../clients/typescript/src/index.js";
import { ask, askInSession, messageOf, sluice } from "../lib/api.js";
import { LiveRun, type Speed } from "../run/live.svelte.js";
import { type Conditions, filterOf } from "./filter.js";
import { sessions } from "../sessions/sessions.svelte.js";

/** How questions are asked. */
export interface Settings {
  mode: "agentic" | "direct";
  collection: string;
  topK: number;
  filter: Conditions;
}

/** A question with its answer. */
export interface Turn {
  key: string;
  question: string;
  questionID?: string | undefined;
  answerID?: string | undefined;
  /** Ids of the versions of the question, if it was edited, and of the answer, if it was asked again. */
  questions: string[];
  answers: string[];
  run?: LiveRun;
  /** The answer in the session, if its run is deleted. */
  stored?: string | undefined;
  /** Why the question was not asked, or not rated. */
  error?: string | undefined;
  rating?: "good" | "bad" | undefined;
}

/** A conversation that the page shows: a session, a single run, or a new one. */
export class Conversation {
  session = $state<string>();
  turns = $state<Turn[]>([]);
  loading = $state(false);
  error = $state<string>();
  older = $state<string>(); // cursor of older messages
  #closed = false;

  get busy(): boolean {
    return this.turns.some((t) => t.run?.state.status === "running" && !t.run.error);
  }

  /** Stops reading. The runs go on. */
  close(): void {
    this.#closed = true;
    for (const t of this.turns) t.run?.close();
  }

  /** Shows a run alone. */
  showRun(id: string): void {
    this.turns = [{ key: id, question: "", questions: [], answers: [], run: new LiveRun(id) }];
  }

  /** Shows the finished run of a turn once more, at a speed. */
  replay(turn: Turn, speed: Speed): void {
    if (!turn.run) return;
    turn.run.close();
    turn.run = new LiveRun(turn.run.id, speed);
  }

  /** Loads a session, or the branch of it that ends with a message. */
  async load(session: string, last?: string): Promise<void> {
    this.session = session;
    this.loading = true;
    try {
      const page = await sluice.sessions.messages(session, { limit: 40, ...(last && { last }) });
      if (this.#closed) return;
      for (const t of this.turns) t.run?.close();
      this.turns = turnsOf(page.messages);
      this.older = page.next;
      this.error = undefined;
    } catch (err) {
      this.error = messageOf(err);
    } finally {
      this.loading = false;
    }
  }

  /** Loads older messages. */
  async loadOlder(): Promise<void> {
    if (!this.session || !this.older) return;
    try {
      const page = await sluice.sessions.messages(this.session, { limit: 40, before: this.older });
      this.turns = [...turnsOf(page.messages), ...this.turns];
      this.older = page.next;
      this.error = undefined;
    } catch (err) {
      this.error = messageOf(err);
    }
  }

  /** Shows the questions that were asked elsewhere since, such as in another tab. */
  async refresh(): Promise<void> {
    if (!this.session || this.loading || this.turns.some((t) => t.error) || this.turns.some((t) => t.run && !t.answerID)) return;
    const page = await sluice.sessions.messages(this.session, { limit: 10 }).catch(() => undefined); // the next time, then
    const last = this.turns.at(-1)?.questionID;
    const newer = page ? turnsOf(page.messages, false) : [];
    const at = newer.findIndex((t) => t.questionID === last);
    if (!page || this.#closed || at < 0 || at === newer.length - 1) return;
    this.turns.push(...turnsOf(page.messages.slice(page.messages.findIndex((m) => m.id === newer[at + 1]!.questionID))));
  }

  /** Asks a question after the last answer. */
  async ask(question: string, o: Settings): Promise<void> {
    this.turns.push({ key: newKey(), question, questions: [], answers: [] });
    await this.send(this.turns.at(-1)!, o);
  }

  /** Sends the question of a turn. */
  async send(shown: Turn, o: Settings): Promise<void> {
    const { question } = shown;
    shown.error = undefined;
    try {
      this.session ??= (await sluice.sessions.create()).session_id;
      shown.run = new LiveRun(await ask({ query: question, ...parameters(o), session_id: this.session }));
      void this.#settle(shown);
    } catch (err) {
      shown.error = messageOf(err);
    }
  }

  /** Asks a question again, or asks another one in its place. Both versions are kept as branches. */
  async replace(turn: Turn, o: Settings, edited?: string): Promise<void> {
    if (!this.session || !turn.questionID) return;
    const body: TurnRequest = edited === undefined ? { regenerate: turn.questionID } : { content: edited, edit: turn.questionID, ...parameters(o) };
    try {
      const run = await askInSession(this.session, body);
      const at = this.turns.indexOf(turn);
      for (const t of this.turns.splice(at)) t.run?.close();
      this.turns.push({ key: newKey(), question: edited ?? turn.question, questions: [], answers: [], run: new LiveRun(run) });
      void this.#settle(this.turns.at(-1)!);
    } catch (err) {
      turn.error = messageOf(err);
    }
  }

  async rate(turn: Turn, rating: "good" | "bad", reason?: string): Promise<void> {
    try {
      await this.#rate(turn, rating, reason);
      turn.error = undefined;
    } catch (err) {
      turn.error = messageOf(err);
    }
  }

  async #rate(turn: Turn, rating: "good" | "bad", reason?: string): Promise<void> {
    if (!this.session || !turn.answerID) return;
    if (turn.rating === rating && reason === undefined) {
      await sluice.sessions.unrate(this.session, turn.answerID);
      turn.rating = undefined;
      return;
    }
    await sluice.sessions.rate(this.session, turn.answerID, rating, { ...(reason && { reason }) });
    turn.rating = rating;
  }

  // settle gets the ids of the messages of a new turn, and the title of the session.
  async #settle(turn: Turn): Promise<void> {
    void sessions.refresh();
    await turn.run?.ended;
    if (this.#closed || !this.session) return;
    try {
      const page = await sluice.sessions.messages(this.session, { limit: 2 });
      const fresh = turnsOf(page.messages, false).at(-1);
      if (fresh) Object.assign(turn, { questionID: fresh.questionID, answerID: fresh.answerID, questions: fresh.questions, answers: fresh.answers });
    } catch {
      // the actions that need the ids are not offered
    }
    void sessions.refresh();
  }
}

function parameters(o: Settings) {
  const filter = filterOf(o.filter);
  return { mode: o.mode, collection: o.collection, top_k: o.topK, ...(filter && { filter }) };
}

// Not a UUID of the browser: it has none on pages that come by plain HTTP.
let keys = 0;
const newKey = () => `new-${++keys}`;

// turnsOf pairs the messages of a branch.
function turnsOf(messages: readonly SessionMessage[], read = true): Turn[] {
  const turns: Turn[] = [];
  for (const m of messages) {
    if (m.role === "user") {
      turns.push({ key: m.id, question: m.content, questionID: m.id, questions: m.siblings ?? [], answers: [] });
      continue;
    }
    const turn = turns.at(-1);
    if (!turn) continue; // its question is on the page before
    turn.answerID = m.id;
    turn.answers = m.siblings ?? [];
    turn.rating = m.feedback?.rating;
    if (m.run_id && m.status !== "deleted" && m.status !== "queued") {
      if (read) turn.run = new LiveRun(m.run_id);
    } else {
      turn.stored = m.content;
    }
  }
  return turns;
}
