"""Runs query.py, which is the protocol's own sample: run.py HOST:PORT QUERY MODE. Its requests, which go to localhost:8000, are
sent to HOST:PORT. Prints each event as a line of JSON."""

import ast
import asyncio
import contextlib
import io
import json
import pathlib
import re
import runpy
import sys

import httpx

host, port = sys.argv[1].rsplit(":", 1)


class Elsewhere(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request):
        assert str(request.url).startswith("http://localhost:8000/"), request.url
        request.url = request.url.copy_with(host=host, port=int(port))
        return await super().handle_async_request(request)


class Client(httpx.AsyncClient):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, transport=Elsewhere(), trust_env=False, **kwargs)


httpx.AsyncClient = Client
sample = runpy.run_path(str(pathlib.Path(__file__).with_name("query.py")))
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    asyncio.run(sample["stream_query"](sys.argv[2], sys.argv[3]))
# Lines end with their line feed in httpx before 0.24, so that names do too.
for name, data in re.findall(r"\[(\w+)\n?\] (.*)\n", printed.getvalue()):
    data = ast.literal_eval(data)
    assert data["type"] == name, name
    print(json.dumps(data))
