import httpx
import json
 
async def stream_query(query: str, mode: str = "agentic"):
    async with httpx.AsyncClient() as client:
        async with client.stream(
            "POST",
            "http://localhost:8000/api/query/stream",
            json={"query": query, "mode": mode},
        ) as response:
            event_type = None
            async for line in response.aiter_lines():
                if line.startswith("event: "):
                    event_type = line[7:]
                elif line.startswith("data: ") and event_type:
                    data = json.loads(line[6:])
                    print(f"[{event_type}] {data}")
                    event_type = None
