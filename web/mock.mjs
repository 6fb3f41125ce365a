// A stand-in for `annals serve` in tests of the page: the same routes, answered by the annals command (`ANNALS`, else target/debug/annals)
// over a store. It holds no state, and serves dist/ with the same headers. `node mock.mjs STORE [PORT]` prints the link.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { timeline } from './mock-timeline.mjs';

const run = promisify(execFile);
const FILES = { '/': ['index.html', 'text/html'], '/app.js': ['app.js', 'text/javascript'], '/app.css': ['app.css', 'text/css'] };
const HEADERS = {
  'Content-Security-Policy': "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

/** Starts the server. `overrides` may answer a path (without /v1) instead: `(url, method, body) => JSON | undefined`. */
export async function serve({ store, annals = process.env.ANNALS ?? new URL('../target/debug/annals', import.meta.url).pathname, token = 'test', write = false, port = 0, overrides = () => undefined }) {
  const cache = new Map();
  const command = async (...args) => {
    const key = args.join('\0');
    if (!cache.has(key)) {
      const answer = run(annals, [...args, '--json', '--store', store, '--all'], { maxBuffer: 1 << 30 }).then(
        ({ stdout }) => JSON.parse(stdout),
        (error) => {
          // Exit status 1 is an answer, such as "no match".
          if (error.stdout?.trim()) return JSON.parse(error.stdout);
          throw new Error(error.stderr || error.message);
        },
      );
      cache.set(key, answer);
    }
    return cache.get(key);
  };
  const answer = async (url, method, body) => {
    const path = url.pathname.slice(3);
    const given = overrides(url, method, body);
    if (given !== undefined) return given;
    const query = url.searchParams;
    const whole = (name) => (query.has(name) ? Number(query.get(name)) : null);
    if (path === '/info') return { version: '0', store, write, sessions: (await command('sessions')).length };
    if (path === '/sessions') {
      const words = (query.get('query') ?? '').toLowerCase();
      const all = (await command('sessions')).filter((row) => [row.title, row.directory, row.model].some((text) => (text ?? '').toLowerCase().includes(words)) && (!query.get('agent') || row.origin === query.get('agent')));
      return { sessions: all.slice(0, whole('limit') ?? 50), next: null, total: all.length };
    }
    if (path === '/search') return command('search', query.get('q'));
    const found = /^\/sessions\/([^/]+)(?:\/(.*))?$/.exec(path);
    if (!found) return null;
    const id = decodeURIComponent(found[1]);
    const rest = found[2] ?? '';
    const log = await command('log', id);
    const head = log.length;
    // A Cut is the number of events before it; the command's --at names the last event that counts.
    const at = query.has('at') ? ['--at', String(Math.max(0, Number(query.get('at')) - 1))] : [];
    const page = (list, from = whole('from') ?? 0, limit = whole('limit') ?? 200) => [list.slice(from, from + limit), from + limit < list.length ? from + limit : null];
    const view = (name) => {
      if (name === 'history' || name === 'transcript') return command(name, id, ...at);
      if (name === 'baseline' || name === 'snapshot') return command('context', id, ...at).then((context) => context[name]);
      return command('replay', id, ...at).then((replay) => replay[name]);
    };
    switch (rest.split('/')[0]) {
      case '': {
        const [row, verified] = await Promise.all([command('sessions').then((rows) => rows.find((one) => one.id === id)), command('verify', id)]);
        if (!row) return null;
        const turns = timeline(log).length;
        return { session: id, title: row.title, directory: row.directory, model: row.model, agent: row.agent, parent: row.parent, children: [], events: head, turns, head: { seq: head, digest: verified.sessions[0].digest }, running: false };
      }
      case 'timeline': {
        const all = timeline(log);
        const [turns, next] = page(all);
        return { turns, next, total_turns: all.length, head };
      }
      case 'cuts': {
        const from = whole('from') ?? 0;
        const cuts = log.map((event) => event.seq + 1).filter((seq) => seq >= from);
        const limit = whole('limit') ?? 200;
        return { cuts: cuts.slice(0, limit), next: cuts[limit] ?? null, total: head };
      }
      case 'events': {
        const from = whole('from') ?? 0;
        const limit = whole('limit') ?? 200;
        return { events: log.slice(from, from + limit), next: from + limit < head ? from + limit : null };
      }
      case 'views': return view(rest.split('/')[1]);
      case 'requests': {
        const step = rest.split('/')[1];
        if (step === undefined) return { requests: (await command('requests', id)).filter((row) => whole('at') === null || row.seq < whole('at')), next: null };
        return rest.endsWith('/body') ? null : command('requests', id, '--step', step);
      }
      case 'why': return command('why', id, ...at, ...(query.get('text') ? [query.get('text')] : []));
      case 'when': return command('when', id, query.get('text'), ...at);
      case 'diff': return query.get('other') ? command('diff', id, query.get('other')) : command('diff', id, String(whole('from') - 1), String(whole('to') - 1));
      case 'cache': return command('cache', id, ...at);
      case 'compactions': return command('compactions', id, ...at);
      case 'usage': return command('replay', id, ...at).then((replay) => replay.usage);
      case 'verify': return command('verify', id);
      default: return null;
    }
  };
  const asked = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://localhost');
    const send = (status, type, content) => response.writeHead(status, { ...HEADERS, 'Content-Type': type }).end(content);
    const problem = (status, title, detail) => send(status, 'application/problem+json', JSON.stringify({ type: 'about:blank', title, status, detail }));
    if (!url.pathname.startsWith('/v1/')) {
      const file = FILES[url.pathname];
      return file ? send(200, file[1], await readFile(new URL(`dist/${file[0]}`, import.meta.url))) : problem(404, 'not found', url.pathname);
    }
    if (request.headers.authorization !== `Bearer ${token}`) return problem(401, 'no token', 'Send the token that annals serve printed.');
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length ? JSON.parse(Buffer.concat(chunks).toString()) : null;
    asked.push({ method: request.method, path: url.pathname + url.search, body });
    if (request.headers.accept === 'text/event-stream') {
      response.writeHead(200, { ...HEADERS, 'Content-Type': 'text/event-stream' });
      response.write(': hb\n\n');
      const write = (event) => response.write(`id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      const streams = overrides(url, 'STREAM', null);
      streams?.add?.(write);
      response.on('close', () => streams?.delete?.(write));
      return undefined;
    }
    try {
      const found = await answer(url, request.method, body);
      return found === null && !url.pathname.includes('/views/') ? problem(404, 'not found', `Nothing at ${url.pathname}.`) : send(200, 'application/json', JSON.stringify(found));
    } catch (error) {
      return problem(422, 'no answer', error.message.trim());
    }
  });
  await new Promise((listening) => server.listen(port, '127.0.0.1', listening));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return { origin, link: `${origin}/#token=${token}`, asked, close: () => { server.closeAllConnections(); server.close(); } };
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const made = await serve({ store: process.argv[2], port: Number(process.argv[3] ?? 0), write: process.argv.includes('--write') });
  console.log(made.link);
}
