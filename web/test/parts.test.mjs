// The parts of the page that need no browser, bundled as the page is.
import { fileURLToPath } from 'node:url';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { build } from 'esbuild';

const { outputFiles } = await build({
  stdin: {
    contents: ['format', 'route', 'sse', 'cuts', 'api', 'store', 'live'].map((name) => `export * as ${name} from './${name}';`).join('\n'),
    resolveDir: fileURLToPath(new URL('../src', import.meta.url)),
  },
  bundle: true, format: 'esm', write: false,
});
const { format, route, sse, cuts, api, store, live } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);

test('characters that hide or reorder text are shown by their codes', () => {
  assert.equal(format.visible('a\u202eb\u0000c\u200bd\u2066'), 'a\\u{202e}b\\u{0}c\\u{200b}d\\u{2066}');
  assert.equal(format.visible('tab\tline\nend\r\u001b[31m'), 'tab\tline\nend\\r\\u{1b}[31m');
  assert.equal(format.visible('pair 😀 lone \ud800 and \udc00'), 'pair 😀 lone \\u{d800} and \\u{dc00}');
  assert.equal(format.visible('tag \u{e0041} bom \ufeff'), 'tag \\u{e0041} bom \\u{feff}');
  assert.equal(format.visible('žluťoučký 日本語 العربية'), 'žluťoučký 日本語 العربية');
});

test('a long text on one line is cut before it is searched', () => {
  const line = format.oneLine('x'.repeat(50_000_000));
  assert.equal(line.length, 301);
});

test('numbers are short', () => {
  assert.deepEqual([0, 999, 1234, 999_949, 5_600_000].map(format.brief), ['0', '999', '1.2k', '1000k', '5.6M']);
  assert.equal(format.dollars(23_154_000), '$0.02');
  assert.equal(format.dollars(1_738_000), '$0.0017');
  assert.equal(format.count(1_234_567), '1,234,567');
  assert.equal(format.duration(65_000), '1 m 5 s');
});

test('every state has a link that reads back', () => {
  const states = [
    { page: 'sessions', query: 'a&b=c#d' },
    { page: 'session', place: { session: '01ABC', at: 12 }, tab: 'cache', mark: 3, with: { session: 'x y', at: null }, turn: null },
    { page: 'session', place: { session: '@last', at: null }, tab: 'seen', mark: null, with: null, turn: null },
    { page: 'session', place: { session: 'a/b@c', at: 0 }, tab: 'seen', mark: null, with: { session: 'q', at: 9 }, turn: null },
  ];
  for (const state of states) assert.deepEqual(route.parse(route.format(state)), state);
});

test('a strange link is the list or the first tab, never an error', () => {
  assert.equal(route.parse('#/nothing/here').page, 'sessions');
  assert.equal(route.parse('#/s/%E0%A4%A').page, 'session');
  assert.equal(route.parse('#/s/x@9?tab=<script>').tab, 'seen');
  assert.equal(route.parse('#/s/x@-1').place.at, null);
  assert.equal(route.parse('').page, 'sessions');
});

const STREAM = ': hb\n\nid: 7\nevent: text.ended\ndata: {"a":\ndata: 1}\n\nid: 8\r\ndata: x\r\n\r\ndata:y\r\rid: 9\n\n';
const MESSAGES = [
  { id: '7', event: 'text.ended', data: '{"a":\n1}' },
  { id: '8', event: 'message', data: 'x' },
  { id: '8', event: 'message', data: 'y' },
];

test('server-sent events are read whatever the chunks are', () => {
  for (let size = 1; size <= STREAM.length; size++) {
    const parser = new sse.SseParser();
    const found = [];
    for (let at = 0; at < STREAM.length; at += size) found.push(...parser.push(STREAM.slice(at, at + size)));
    assert.deepEqual(found, MESSAGES, `chunks of ${size}`);
  }
});

test('steps go from Cut to Cut, also from inside of a Batch', () => {
  const window = { from: 1, to: 20, cuts: [1, 4, 5, 9, 20] };
  assert.equal(cuts.stepped(window, 4, 1), 5);
  assert.equal(cuts.stepped(window, 4, -1), 1);
  assert.equal(cuts.stepped(window, 7, 1), 9);
  assert.equal(cuts.stepped(window, 7, -1), 5);
  assert.equal(cuts.stepped(window, 20, 1), null);
  assert.equal(cuts.stepped(window, 21, -1), null);
  assert.equal(cuts.nearest(window.cuts, 7), 9);
  assert.equal(cuts.nearest([], 7), null);
});

test('a turn is the last one that began before a Cut', () => {
  const turns = [{ first: 0 }, { first: 5 }, { first: 9 }];
  assert.equal(cuts.turnAt(turns, 0), null);
  assert.equal(cuts.turnAt(turns, 5).first, 0);
  assert.equal(cuts.turnAt(turns, 6).first, 5);
  assert.equal(cuts.turnAt(turns, 100).first, 9);
});

// A session of `n` turns with ten events each, where every 300th turn failed; counts what is asked for.
function server(n) {
  const asked = [];
  const turn = (at) => ({ turn: at + 1, first: at * 10, last: at * 10 + 9, at: 0, calls: [], marks: at % 300 === 299 ? [{ seq: at * 10 + 7, kind: 'error', text: '' }] : [], error: at % 300 === 299 });
  return {
    asked,
    get: async (path, query = {}) => {
      asked.push(path);
      if (path.endsWith('/timeline')) {
        const from = query.at === undefined ? query.from : Math.floor(Math.max(0, Math.ceil(Math.min(query.at, n * 10) / 10) - 1) / query.limit) * query.limit;
        return { from, turns: Array.from({ length: Math.min(query.limit, n - from) }, (_, at) => turn(from + at)), next: null, total_turns: n, head: n * 10 };
      }
      if (path.endsWith('/axis')) {
        const errors = Array.from({ length: Math.floor(n / 300) }, (_, at) => (at * 300 + 299) * 10 + 8);
        return { turns: [], errors: [], compactions: [], epochs: [], head: n * 10, error_after: errors.find((cut) => cut > query.at) ?? null, error_before: errors.filter((cut) => cut < query.at).pop() ?? null };
      }
      if (path.endsWith('/cuts')) {
        const all = Array.from({ length: query.limit }, (_, at) => query.from + at).filter((seq) => seq > 0 && seq <= n * 10);
        return { cuts: all, next: query.from + query.limit <= n * 10 ? query.from + query.limit : null, total: n * 10 };
      }
      return { session: 'x', title: '', turns: n, head: { seq: n * 10, digest: '' }, children: [] };
    },
  };
}

test('moving in a session of a million events asks for a few pages', async () => {
  const mock = server(100_000);
  const session = new store.SessionStore(mock, 'x');
  await session.open(null);
  assert.equal(await session.reach(654_321), 65_432);
  assert.equal(await session.turn(654_321, 1), 654_331);
  assert.equal(await session.turn(654_325, -1), 654_321);
  assert.equal(await session.turn(654_321, -1), 654_311);
  let at = await session.snap(500_000);
  for (let step = 0; step < 500; step++) at = await session.step(at, 1);
  assert.equal(at, 500_500);
  for (let step = 0; step < 500; step++) at = await session.step(at, -1);
  assert.equal(at, 500_000);
  assert.ok(mock.asked.length <= 12, `${mock.asked.length} requests`);
});

test('a session is opened at its end, or at the Cut of a link, with what is there asked for at once', async () => {
  const mock = server(1000);
  const end = new store.SessionStore(mock, 'x');
  await end.open(null);
  assert.equal(end.start, 10_000);
  assert.equal(await end.reach(end.start), 999);
  assert.deepEqual(mock.asked, ['/sessions/x/timeline', '/sessions/x']);
  mock.asked.length = 0;
  const link = new store.SessionStore(mock, 'x');
  const opening = link.open(5005);
  assert.equal(mock.asked.length, 3);
  await opening;
  assert.equal(link.start, 5005);
  assert.equal(await link.reach(link.start), 500);
  assert.equal(await link.step(link.start, 1), 5006);
  assert.equal(mock.asked.length, 3);
  const beyond = new store.SessionStore(mock, 'x');
  await beyond.open(20_000);
  assert.equal(beyond.start, 10_000);
});

test('the next error is found on a later page, and none is said to be none', async () => {
  const session = new store.SessionStore(server(700), 'x');
  await session.open(null);
  assert.equal(await session.error(0), 2998);
  assert.equal(await session.error(2998), 5998);
  assert.equal(await session.error(5998), null);
  assert.equal(await session.error(5998, true), 2998);
  assert.equal(await session.error(2998, true), null);
});

test('the ends of a session are no further than its first and last Cut', async () => {
  const session = new store.SessionStore(server(3), 'x');
  await session.open(null);
  assert.equal(await session.step(30, 1), 30);
  assert.equal(await session.step(1, -1), 1);
  assert.equal(await session.turn(30, 1), 30);
});

test('what was asked ahead is answered once, also under the query that is known later', async () => {
  const asked = [];
  globalThis.fetch = async (path) => {
    asked.push(path);
    return { ok: true, json: async () => asked.length };
  };
  const server = new api.Api('token');
  const known = server.ahead('/why', { at: null, limit: 1 });
  known({ at: 30, limit: 1 });
  assert.equal(await server.get('/why', { at: 30, limit: 1 }), 1);
  assert.deepEqual(asked, ['/v1/why?limit=1']);
  assert.equal(await server.get('/why', { at: 30, limit: 1 }), 2);
  server.ahead('/why', { at: 7 });
  assert.equal(await server.get('/why', { at: 7 }), 3);
  known({ at: 8 });
  assert.equal(await server.get('/why', { at: 8 }), 4);
});

test('a query leaves out what is not given', () => {
  assert.equal(api.withQuery('/why', { at: 0, text: null, q: 'a&b' }), '/why?at=0&q=a%26b');
});

test('a call that did not complete is an error', () => {
  assert.deepEqual(cuts.errorsOf([{ first: 0, last: 9, error: true, marks: [], calls: [{ status: 'error', first: 1, last: 3 }, { status: 'completed', first: 4, last: 5 }, { status: 'running', first: 6, last: null }] }]), [4]);
  assert.deepEqual(cuts.errorsOf([{ first: 0, last: 9, error: true, marks: [], calls: [] }]), [10]);
});

test('what is on its way is joined by fragment, and is gone when it is settled', () => {
  const update = (type, place, text) => ({ type, session: 's', request: 'r', of: 'text', place, text });
  let texts = new Map();
  for (const one of [update('delta', 0, 'Seven '), update('delta', 1, 'Also'), update('delta', 0, 'jars')]) texts = live.heard(texts, one);
  assert.deepEqual([...texts.values()].map((one) => one.text), ['Seven jars', 'Also']);
  texts = live.heard(texts, update('settled', 0));
  assert.deepEqual([...texts.values()].map((one) => one.text), ['Also']);
});
