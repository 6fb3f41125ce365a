// The real server, `annals serve` over a store, and one before it that gives some answers of its own.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

/** Starts `annals serve`: `{ origin, token, close() }`. */
export async function serveStore({ store, annals, env, cwd, options = [] }) {
  const server = spawn(annals, ['serve', ...options, '--store', store], { env, cwd, stdio: ['ignore', 'pipe', 'ignore'] });
  const link = await new Promise((resolve, reject) => {
    createInterface({ input: server.stdout }).once('line', resolve);
    server.once('error', reject).once('exit', (status) => reject(new Error(`annals serve ended with ${status}`)));
  });
  const [origin, token] = link.split('/#token=');
  return { origin, token, process: server, close: () => server.kill() };
}

/**
 * The same behind a server that notes what is asked. `overrides(url, method, body)` gives the JSON of an answer, or undefined for what
 * the real server answers; of a stream (`STREAM`) a set, to which the function is added that sends an event.
 */
export async function serveOverrides({ overrides, write = false, ...given }) {
  const real = await serveStore(given);
  const asked = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, real.origin);
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length ? JSON.parse(Buffer.concat(chunks).toString()) : null;
    asked.push({ method: request.method, path: url.pathname + url.search, body });
    const json = (value) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
    const streams = request.headers.accept === 'text/event-stream' ? overrides(url, 'STREAM', null) : undefined;
    if (streams?.add) {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(': hb\n\n');
      const send = (event) => response.write(`id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      streams.add(send);
      response.on('close', () => streams.delete(send));
      return;
    }
    const own = overrides(url, request.method, body);
    if (own !== undefined) return json(own);
    const { host: _, connection: __, origin: ___, ...headers } = request.headers;
    const answer = await fetch(url, { method: request.method, headers, body: chunks.length ? Buffer.concat(chunks) : undefined }).catch(() => null);
    if (!answer) return response.writeHead(502).end();
    if (url.pathname === '/v1/info') return json({ ...(await answer.json()), write });
    response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') });
    try {
      for await (const chunk of answer.body) if (!response.write(chunk) && response.destroyed) break;
      response.end();
    } catch {
      // The real server was ended during a stream.
      response.destroy();
    }
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const close = () => {
    server.closeAllConnections();
    server.close();
    real.close();
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, token: real.token, asked, close };
}
