// A model server over OpenAI Chat Completions that follows a script: for tests of the page with --write.
import { createServer } from 'node:http';

/**
 * Answers one request after another: `{ text }`, `{ calls: [{ id, name, input }] }`; with `held: true` the text is sent but for its last word, and the
 * rest after `release()`. Requests beyond the script get "Done.".
 */
export async function startModel(script) {
  const waiting = [];
  const received = [];
  let held = [];
  waiting.push(...script);
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push(body ? JSON.parse(body) : null);
    const says = waiting.shift() ?? { text: 'Done.' };
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const chunk = (delta, finish = null) => response.write(`data: ${JSON.stringify({ id: 'a', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    const end = (finish) => {
      chunk({}, finish);
      response.write(`data: ${JSON.stringify({ id: 'a', choices: [], usage: { prompt_tokens: 120, completion_tokens: 8, total_tokens: 128 } })}\n\n`);
      response.end('data: [DONE]\n\n');
    };
    if (says.calls) {
      says.calls.forEach((call, index) => chunk({ tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.input) } }] }));
      return end('tool_calls');
    }
    const words = says.text.split(/(?<= )/);
    const last = says.held ? words.pop() : null;
    for (const word of words) chunk({ content: word });
    if (last === null) return end('stop');
    held.push(() => {
      chunk({ content: last });
      end('stop');
    });
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`, received,
    say: (...more) => waiting.push(...more),
    release: () => {
      for (const go of held) go();
      held = [];
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
