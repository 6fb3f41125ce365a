// The rows of /timeline from the lines of `annals log --json`: what the server's fold does, for tests without a server.

const MARKS = {
  'compaction.ended': 'compaction', 'compaction.ended.2': 'compaction', 'epoch.started': 'epoch', 'revert.committed': 'revert', 'permission.asked': 'permission',
  'permission.replied': 'permission', 'step.failed': 'error', 'compaction.failed': 'error', 'texts.erased': 'erasure',
};

export function timeline(log) {
  const turns = [];
  let turn = null;
  const begin = (event, number, prompt) => {
    turn = { turn: number, first: event.seq, last: event.seq, at: event.at, ended_at: event.at, prompt, cuts: [], error: false, input_tokens: 0, output_tokens: 0, cost: 0, calls: [], marks: [] };
    turns.push(turn);
  };
  const open = new Map();
  let number = 0;
  for (const event of log) {
    if (!turn) begin(event, 0, '');
    if (event.type === 'input.admitted') begin(event, ++number, (event.text ?? '').slice(0, 200));
    turn.last = event.seq;
    turn.ended_at = event.at;
    turn.cuts.push(event.seq + 1);
    if (event.type === 'tool.called') {
      const call = { call: event.call, tool: event.name, first: event.seq, last: null, duration_ms: null, status: 'running', title: event.input?.slice(0, 120) ?? null, child: null, at: event.at };
      open.set(event.call, call);
      turn.calls.push(call);
    } else if (event.type === 'tool.settled') {
      const call = open.get(event.call);
      if (call) Object.assign(call, { last: event.seq, duration_ms: event.at - call.at, status: event.outcome ?? (event.error ? 'error' : 'completed') });
      if (event.outcome !== 'completed') turn.error = true;
    } else if (event.type === 'child.started') {
      const call = open.get(event.call);
      if (call) call.child = event.child;
    } else if (event.type === 'step.ended' && event.usage) {
      turn.input_tokens += event.usage.input;
      turn.output_tokens += event.usage.output;
      turn.cost += event.cost ?? 0;
    }
    const kind = MARKS[event.type];
    if (kind) turn.marks.push({ seq: event.seq, kind, text: event.summary?.slice(0, 160) ?? event.cause ?? event.reply ?? event.action ?? (event.error ? JSON.stringify(event.error).slice(0, 160) : event.type) });
    if (kind === 'error') turn.error = true;
  }
  for (const one of turns) for (const call of one.calls) delete call.at;
  return turns;
}
