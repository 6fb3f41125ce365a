// Transcripts of Claude Code made for tests: a hostile one, and ones of any length.
import { createHash } from 'node:crypto';

const id = (text) => {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** `turns` are `{ prompt, answer, calls: [{ name, input, output, failed }] }`. */
export function transcript(name, turns, { cwd = '/srv/demo', model = 'mock-claude', branch = 'main' } = {}) {
  const lines = [];
  let parent = null;
  let time = Date.UTC(2026, 10, 20, 9);
  const put = (type, message, more = {}) => {
    const uuid = id(`${name} ${lines.length}`);
    time += 40;
    lines.push({ parentUuid: parent, isSidechain: false, type, message, uuid, timestamp: new Date(time).toISOString(), userType: 'external', entrypoint: 'cli', cwd, sessionId: id(name), version: '2.1.197', gitBranch: branch, ...more });
    parent = uuid;
  };
  const say = (number, content, stop) => put('assistant', { id: `msg_${number}_${lines.length}`, type: 'message', role: 'assistant', content, model, stop_reason: stop, stop_sequence: null, usage: { input_tokens: 100 + number, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 20 } });
  turns.forEach((turn, number) => {
    put('user', { role: 'user', content: turn.prompt });
    (turn.calls ?? []).forEach((call, at) => {
      const use = `toolu_${number}_${at}`;
      say(number, [{ type: 'tool_use', id: use, name: call.name, input: call.input }], 'tool_use');
      put('user', { role: 'user', content: [{ tool_use_id: use, type: 'tool_result', content: call.output, ...(call.failed ? { is_error: true } : {}) }] });
    });
    say(number, [{ type: 'text', text: turn.answer }], 'end_turn');
  });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

// Everything that a log could try: markup, handlers, links, characters that reorder, hide or steer, and size.
export const MARKUP = '<script>window.hacked=1</script><img src=x onerror="window.hacked=1"><svg onload=window.hacked=1><iframe src="javascript:parent.hacked=1"></iframe><a href="javascript:window.hacked=1">x</a>{{7*7}}${window.hacked=1}</pre></textarea>';
export const ORDER = 'report\u202efdp.exe \u2066\u2067x\u2069 a\u200bb \u0000\u001b[31m\u0007 \u{e0041} \ud800 end';

export function hostile() {
  return transcript('hostile', [
    { prompt: `${MARKUP} ${ORDER}`, calls: [{ name: `Bash${MARKUP}`, input: { command: MARKUP, [MARKUP]: ORDER }, output: MARKUP }, { name: ORDER, input: { path: ORDER }, output: ORDER, failed: true }], answer: `${MARKUP}\n${ORDER}` },
    { prompt: 'Print much', calls: [{ name: 'Bash', input: { command: 'yes' }, output: `${MARKUP}${ORDER}\n`.repeat(40_000) }], answer: 'Printed.' },
    { prompt: '__proto__', calls: [{ name: 'constructor', input: { __proto__: { polluted: true }, toString: 1 }, output: '' }], answer: 'x'.repeat(100_000) },
  ], { cwd: `/srv/${MARKUP}`.slice(0, 60), model: 'mock\u202eedualc', branch: '\u202emain' });
}
