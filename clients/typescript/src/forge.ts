import type { Answer, AskEvent, AskSource, Done, Failure, Verification } from "./types.js";
import { decode, type Frame, RunStream } from "./stream.js";

/** The current state of an answer. */
export interface AskState {
  run: string | undefined;
  /** The answer. [n] marks text that source n supports. */
  text: string;
  sources: AskSource[];
  verification?: Verification;
  /** Set at the end of a successful run. */
  done?: Done;
  /** Set if the run has failed. The text so far stays. */
  error?: Failure;
  /** Recoverable errors. */
  warnings: Failure[];
  cached: boolean;
}

/** The stream of a run in the forge protocol. The last event is `done`, or an `error` that is not recoverable. */
export class AskStream extends RunStream<AskEvent, AskState> {
  #state: AskState = { run: undefined, text: "", sources: [], warnings: [], cached: false };

  override get snapshot(): AskState {
    return { ...this.#state, run: this.run };
  }

  protected override take(frame: Frame): AskEvent {
    const e = decode<AskEvent>(frame);
    const s = this.#state;
    switch (e.type) {
      case "token":
        s.text += e.content;
        break;
      case "cache_hit":
        s.cached = true;
        break;
      case "sources":
        s.sources = e.sources;
        break;
      case "verification":
        s.verification = e;
        break;
      case "done":
        s.done = e;
        break;
      case "error":
        if (e.recoverable) s.warnings = [...s.warnings, e];
        else s.error = e;
        break;
    }
    return e;
  }

  protected override whole(): AskState {
    return this.snapshot;
  }

  protected override failure(state: AskState): Failure | undefined {
    return state.error;
  }
}

/** Reports whether an event is the last one of the forge protocol. */
export function lastOfForge(frame: Frame): boolean {
  if (frame.event === "done") return true;
  return frame.event === "error" && !decode<Failure>(frame).recoverable;
}

export type { Answer };
