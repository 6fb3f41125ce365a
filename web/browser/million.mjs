// Answers for a session of any length that nobody stored: 20 events in each turn, computed when they are asked for.

const PER_TURN = 20;

export function million(events) {
  const id = '01MILLIONEVENTS00000000000';
  let head = events;
  const waiting = new Set();
  const turn = (at) => ({
    turn: at + 1, first: at * PER_TURN, last: at * PER_TURN + PER_TURN - 1, at: 1_780_000_000_000 + at * 60_000, ended_at: 1_780_000_030_000 + at * 60_000, prompt: `Prompt ${at + 1}`,
    cuts: [], error: at % 1000 === 999, input_tokens: 1000, output_tokens: 20, cost: 0, marks: [],
    calls: [{ call: `c${at}`, tool: 'bash', first: at * PER_TURN + 4, last: at * PER_TURN + 6, duration_ms: 20, status: at % 1000 === 999 ? 'error' : 'completed', title: 'ls', child: null }],
  });
  const event = (seq) => ({ seq, at: 1_780_000_000_000 + seq * 3000, type: 'text.ended', text: `Event ${seq}` });
  const list = (from, limit, make, end) => Array.from({ length: Math.max(0, Math.min(limit, end - from)) }, (_, at) => make(from + at));
  const answer = (url, method) => {
    const start = `/v1/sessions/${id}`;
    if (!url.pathname.startsWith(start)) return undefined;
    const rest = url.pathname.slice(start.length);
    const from = Number(url.searchParams.get('from') ?? 0);
    const limit = Number(url.searchParams.get('limit') ?? 100);
    const turns = Math.ceil(head / PER_TURN);
    if (method === 'STREAM') return waiting;
    if (rest === '') return { session: id, title: 'A million events', directory: '/srv', model: 'm', agent: 'a', parent: null, children: [], events: head, turns, head: { seq: head, digest: 'ab'.repeat(32) }, running: true };
    if (rest === '/timeline' && url.searchParams.has('at')) {
      const start = Math.floor(Math.max(0, Math.ceil(Number(url.searchParams.get('at')) / PER_TURN) - 1) / limit) * limit;
      return { from: start, turns: list(start, limit, turn, turns), next: null, total_turns: turns, head };
    }
    if (rest === '/axis') return { turns: list(0, 2000, (place) => Math.floor((place * head) / 2000), 2000), errors: [], compactions: [], epochs: [], head, error_after: null, error_before: null };
    if (rest === '/timeline') return { from, turns: list(from, limit, turn, turns), next: from + limit < turns ? from + limit : null, total_turns: turns, head };
    if (rest === '/cuts') return { cuts: list(Math.max(1, from), limit, (seq) => seq, head + 1), next: from + limit <= head ? from + limit : null, total: head };
    if (rest === '/events') return { events: list(from, limit, event, head), next: from + limit < head ? from + limit : null };
    return [];
  };
  return {
    id, answer,
    append: (n) => {
      head += n;
      for (const write of waiting) write(event(head - 1));
    },
  };
}
