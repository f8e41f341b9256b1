const eventSource = new EventSource("/functions/v1/rag", {
  /* ... */
});

// Or with fetch for POST requests:
const response = await fetch("/functions/v1/rag", {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ question: "..." }),
});

const reader = response.body.getReader();
const decoder = new TextDecoder();

let kpiData = {
  ttfMs: null,
  totalDurationMs: null,
  platformFee: null,
  rocDistributed: null,
  confidence: null,
  sourcesContributed: null,
};

while (true) {
  const { done, value } = await reader.read();
  if (done) break;

  const lines = decoder.decode(value).split("\n");
  for (const line of lines) {
    if (!line.startsWith("data: ")) continue;

    const event = JSON.parse(line.slice(6));

    switch (event.type) {
      case "progress":
        if (event.phase === "first_event") {
          kpiData.ttfMs = event.detail.ttf_ms;
        } else if (event.phase === "completed") {
          kpiData.totalDurationMs = event.detail.duration_ms;
        }
        break;

      case "results":
        // Append to answer display
        appendAnswer(event.chunk);
        break;

      case "events-answer-confidence":
        const conf = JSON.parse(event.chunk);
        kpiData.confidence = conf.confidence;
        kpiData.sourcesContributed = conf.sourcesContributed;
        break;

      case "transaction-summary":
        const tx = JSON.parse(event.chunk);
        kpiData.platformFee = tx.platform_fee;
        kpiData.rocDistributed = tx.roc_credits_distributed;
        break;
    }
  }
}

// Update KPI bar
updateKpiBar(kpiData);
