import { duration, number, percent, plural, t } from "../lib/i18n.svelte.js";
import type { Key } from "../locales/en.js";
import type { IconName } from "../ui/Icon.svelte";
import type { Step } from "./state.js";

const tools: Record<string, Key> = {
  hybrid_search: "tool_hybrid_search", semantic_search: "tool_semantic_search", proposition_search: "tool_proposition_search", hyde_search: "tool_hyde_search",
  self_query: "tool_self_query", graph_traverse: "tool_graph_traverse", decompose_query: "tool_decompose_query", page_reader: "tool_page_reader",
  list_documents: "tool_list_documents", rerank_colbert: "tool_rerank_colbert", generate_answer: "tool_generate_answer",
};

/** Returns what a tool does, in words. */
export function toolName(tool: string): string {
  const key = tools[tool];
  return key ? t(key) : t("tool_other", { tool });
}

/** Describes a step in one line that a layman understands, and in a second one with its result. */
export function describe(step: Step): { title: string; result: string; icon: IconName; tone?: "good" | "warn" | "bad" } {
  const d = step.detail;
  const running = step.end === undefined;
  switch (d.kind) {
    case "summary":
      return { title: t("step_summary"), result: "", icon: "clock" };
    case "analysis": {
      const a = d.analysis;
      const result = a.standalone ? t("step_standalone", { query: a.standalone }) : a.parts?.length ? t("step_parts", { n: a.parts.length }) : t(`step_analysis_${a.complexity}`);
      return { title: t("step_analysis"), result, icon: "search" };
    }
    case "cache":
      return d.cache.hit
        ? { title: t("step_cache_hit", { query: d.cache.original_query ?? "" }), result: percent(d.cache.similarity ?? 1), icon: "clock", tone: "good" }
        : { title: t("step_cache_miss"), result: "", icon: "clock" };
    case "search": {
      const n = d.found?.length;
      const found = d.error ? d.error : n === undefined ? "" : n === 0 ? t("found_none") : plural("found_n", n);
      return {
        title: t(running ? "step_search_running" : "step_search", { query: d.query }), icon: "search", ...(d.error && { tone: "bad" as const }),
        result: [toolName(d.tool), found].filter(Boolean).join(" · "),
      };
    }
    case "tool":
      return { title: toolName(d.tool), result: d.reason ?? "", icon: d.tool === "graph_traverse" ? "graph" : "file", ...(step.failed && { tone: "bad" as const }) };
    case "grading": {
      const action = d.action === "re-retrieve" ? t("action_re_retrieve") : d.action === "expand" ? t("action_expand") : t("action_proceed");
      return { title: t("step_grading"), result: action, icon: "check", tone: d.action === "re-retrieve" ? "warn" : "good" };
    }
    case "rerank":
      return { title: t("step_rerank", { n: d.outputs.length, of: d.input }), result: "", icon: "options" };
    case "writing": {
      const result = [d.model, d.firstToken === undefined ? "" : t("step_writing_first", { time: duration(d.firstToken - step.start) })];
      return { title: t(running ? "step_writing_running" : "step_writing"), result: result.filter(Boolean).join(" · "), icon: "edit" };
    }
    case "check": {
      const supported = d.claims.filter((c) => c.verdict === "SUPPORTED").length;
      const result = d.claims.length ? t("claims_supported", { n: supported, of: d.claims.length }) : "";
      return { title: t("step_check"), result, icon: d.flagged ? "warning" : "check", tone: d.flagged ? "bad" : supported === d.claims.length ? "good" : "warn" };
    }
    case "warning":
      return { title: t("step_warning"), result: `${d.step}: ${d.message}`, icon: "warning", tone: "warn" };
  }
}

/** Formats a score between 0 and 1. */
export const score = (n: number): string => number(n, 2);
