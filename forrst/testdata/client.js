const response = await fetch('/forrst', {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({
    protocol: { name: 'forrst', version: '0.1.0' },
    id: 'req_stream',
    call: {
      function: 'ai.generate',
      version: '1',
      arguments: { prompt: 'Hello world' }
    },
    extensions: [{
      urn: 'urn:forrst:ext:stream',
      options: { accept: true }
    }]
  })
});

const reader = response.body.getReader();
const decoder = new TextDecoder();

while (true) {
  const { done, value } = await reader.read();
  if (done) break;

  const text = decoder.decode(value);
  const lines = text.split('\n');

  for (const line of lines) {
    if (line.startsWith('event: ')) {
      currentEvent = line.slice(7);
    } else if (line.startsWith('data: ')) {
      const data = JSON.parse(line.slice(6));
      handleEvent(currentEvent, data);
    }
  }
}
