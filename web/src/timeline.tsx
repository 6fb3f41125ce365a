// The session by turn: prompts, calls with durations and children, errors, compactions and epochs.
import { failed } from './cuts';
import { brief, clock, dollars, duration, oneLine } from './format';
import { linkTo } from './route';
import type { SessionStore } from './store';
import type { Mark, Turn, TurnCall } from './types';
import { Virtual } from './ui';

const HEAD = 44;
const LINE = 22;
const CALLS = 200;

/** How many calls of a turn of a sub-agent are shown at most. */
const NESTED_CALLS = 12;

const lines = (turn: Turn, store: SessionStore) =>
  Math.min(turn.calls.length, CALLS) + (turn.calls.length > CALLS ? 1 : 0) + turn.marks.length +
  turn.calls.slice(0, CALLS).reduce((sum, call) => sum + nestedLines(call.child ? store.nested.get(call.child) : undefined), 0);

const nestedLines = (turns: Turn[] | null | undefined) => (turns ?? []).reduce((sum, turn) => sum + 1 + Math.min(NESTED_CALLS, turn.calls.length), 0);

export function Timeline({ store, version, at, current, go }: { store: SessionStore; version: number; at: number; current: number; go: (seq: number) => void }) {
  return (
    <Virtual
      className="timeline"
      count={store.total}
      height={(index) => {
        const turn = store.turns[index];
        return turn ? HEAD + lines(turn, store) * LINE + 8 : HEAD + 8;
      }}
      version={version}
      label="Timeline by turn"
      focus={current}
      seen={(first, last) => {
        // Before the turn of the marker is known, the start of the list is in view by chance.
        if (current >= 0 && last > first) {
          store.page(first).catch(() => {});
          store.page(last - 1).catch(() => {});
        }
      }}
      row={(index) => {
        const turn = store.turns[index];
        return turn ? <TurnBlock store={store} turn={turn} at={at} current={index === current} go={go} /> : <div class="turn hole">turn {index + 1}</div>;
      }}
    />
  );
}

type Item = { seq: number; call?: TurnCall; mark?: Mark };

function TurnBlock({ store, turn, at, current, go }: { store: SessionStore; turn: Turn; at: number; current: boolean; go: (seq: number) => void }) {
  const items: Item[] = [...turn.calls.slice(0, CALLS).map((call) => ({ seq: call.first, call })), ...turn.marks.map((mark) => ({ seq: mark.seq, mark }))];
  items.sort((a, b) => a.seq - b.seq);
  const longest = Math.max(1, ...turn.calls.map((call) => call.duration_ms ?? 0));
  const facts = [
    turn.input_tokens != null && turn.input_tokens > 0 && `${brief(turn.input_tokens)} in`,
    turn.output_tokens != null && turn.output_tokens > 0 && `${brief(turn.output_tokens)} out`,
    turn.cost ? dollars(turn.cost) : '',
    turn.ended_at != null && turn.ended_at > turn.at ? duration(turn.ended_at - turn.at) : '',
  ].filter(Boolean);
  const kind = `turn${current ? ' current' : ''}${turn.error ? ' error' : ''}${turn.first >= at ? ' future' : ''}`;
  return (
    <section class={kind} aria-label={`Turn ${turn.turn}`} aria-current={current ? 'step' : undefined}>
      <button type="button" class="prompt" onClick={() => go(turn.first + 1)}>
        <b>{turn.turn || '·'}</b>
        <span><bdi>{turn.prompt ? oneLine(turn.prompt, 200) : turn.turn ? 'no prompt' : 'before the first prompt'}</bdi><small>{clock(turn.at)}{facts.length ? ` · ${facts.join(' · ')}` : ''}</small></span>
      </button>
      {items.map((item) => (item.call ? <CallLine key={`c${item.seq}`} store={store} call={item.call} at={at} longest={longest} go={go} /> : <MarkLine key={`m${item.seq}${item.mark!.kind}`} mark={item.mark!} at={at} go={go} />))}
      {turn.calls.length > CALLS && <div class="item dim">{turn.calls.length - CALLS} more calls</div>}
    </section>
  );
}

function CallLine({ store, call, at, longest, go }: { store: SessionStore; call: TurnCall; at: number; longest: number; go: (seq: number) => void }) {
  const bad = failed(call.status) || call.command_failure;
  const share = Math.max(2, ((call.duration_ms ?? 0) / longest) * 48);
  const nested = call.child ? store.nested.get(call.child) : undefined;
  return (
    <>
    <div class={`item call${bad ? ' bad' : ''}${call.first >= at ? ' future' : ''}`}>
      <button type="button" onClick={() => go((call.last ?? call.first) + 1)}>
        <span class="tool"><bdi>{oneLine(call.tool, 40)}</bdi></span>
        <span class="what"><bdi>{oneLine(call.title ?? '', 120)}</bdi></span>
        {bad && <span class="status">{call.command_failure ?? call.status}</span>}
        <span class="n dim">{call.duration_ms == null ? call.status === 'completed' ? '' : call.status : duration(call.duration_ms)}</span>
        <i style={{ width: `${share}px` }} aria-hidden="true" />
      </button>
      {call.child && <button type="button" class="nest" aria-expanded={nested !== undefined} title="Show what the sub-agent did, here" onClick={() => store.nest(call.child!)}>{nested === undefined ? '▸' : '▾'}</button>}
      {call.child && <a class="child" href={linkTo(call.child)} title="Open the session that this call started">child</a>}
    </div>
    {(nested ?? []).map((turn) => <Nested key={turn.turn} child={call.child!} turn={turn} />)}
    </>
  );
}

/** A turn of a sub-agent, in the call that started it. */
function Nested({ child, turn }: { child: string; turn: Turn }) {
  return (
    <>
      <div class={`item nested${turn.error ? ' bad' : ''}`}><a href={linkTo(child, turn.last + 1)}><span class="tool">{turn.turn || '·'}</span><span class="what"><bdi>{oneLine(turn.prompt || 'before the first prompt', 160)}</bdi></span></a></div>
      {turn.calls.slice(0, NESTED_CALLS).map((call) => (
        <div key={call.first} class={`item nested call${failed(call.status) || call.command_failure ? ' bad' : ''}`}>
          <a href={linkTo(child, (call.last ?? call.first) + 1)}>
            <span class="tool"><bdi>{oneLine(call.tool, 40)}</bdi></span><span class="what"><bdi>{oneLine(call.title ?? '', 120)}</bdi></span>
            {(failed(call.status) || call.command_failure) && <span class="status">{call.command_failure ?? call.status}</span>}
            <span class="n dim">{call.duration_ms == null ? '' : duration(call.duration_ms)}</span>
          </a>
        </div>
      ))}
    </>
  );
}

const NAMES: Record<string, string> = { compaction: 'compaction', epoch: 'system prompt', revert: 'revert', permission: 'permission', error: 'error', erasure: 'erasure' };

function MarkLine({ mark, at, go }: { mark: Mark; at: number; go: (seq: number) => void }) {
  return (
    <div class={`item mark ${NAMES[mark.kind] ? mark.kind : ''}${mark.seq >= at ? ' future' : ''}`}>
      <button type="button" onClick={() => go(mark.seq + 1)}><span class="tool">{NAMES[mark.kind] ?? oneLine(mark.kind, 30)}</span><span class="what"><bdi>{oneLine(mark.text, 160)}</bdi></span></button>
    </div>
  );
}
