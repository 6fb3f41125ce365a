// What changed since the Cut before, since a marked one, or against another session.
import { CLIP, of } from '../api';
import { count, visible } from '../format';
import type { Difference, Json } from '../types';
import { Empty, LongText, Panel, useLoad } from '../ui';
import { pretty } from './data';
import { PAUSE, type TabProps } from '.';

export function Changes({ api, id, at, mark, other, before, go }: TabProps) {
  const marked = mark !== null && mark !== at ? mark : null;
  const loaded = useLoad(`${id}@${at} ${marked} ${other?.session}@${other?.at}`, async (signal) => {
    const from = other ? at ?? 0 : marked ?? (await before(at ?? 0));
    const range = other ? { from, to: other.at, other: other.session } : { from: Math.min(from, at ?? from), to: Math.max(from, at ?? from) };
    const found = await api.get<Difference[]>(of(id, '/diff'), { ...range, clip: CLIP }, signal);
    return { from: range.from, to: range.to, found };
  }, PAUSE);
  return (
    <Panel loaded={loaded}>
      {({ from, to, found }) => (
        <>
          <p class="lead dim">
            {other ? 'Differences to the second session.' : marked !== null ? <>From {count(from)} to {count(to ?? 0)}, one of them marked.</> : <>From the place before, <button type="button" class="quiet" onClick={() => go(from)}>{count(from)}</button>, to here. Press m to mark a place to compare with.</>}
          </p>
          {Array.isArray(found) ? <Differences found={found} /> : <LongText text={pretty(found)} />}
        </>
      )}
    </Panel>
  );
}

const NAMES: Record<string, string> = { history: 'Next request', snapshot: 'Context snapshot', baseline: 'System prompt', pending: 'Waiting inputs', requests: 'Requests', session: 'Session', epochs: 'Epochs', usage: 'Usage', transcript: 'Transcript' };

function Differences({ found }: { found: Difference[] }) {
  if (found.length === 0) return <Empty>No view changed.</Empty>;
  const views = [...new Set(found.map((one) => one.view))];
  return (
    <>
      {views.map((view) => (
        <section key={view} class="change">
          <h2>{NAMES[view] ?? visible(view)}</h2>
          {found.filter((one) => one.view === view).slice(0, 200).map((one) => (
            <div key={one.path} class="pair">
              <code>{visible(one.path.replace(/^seq (\d+)/, 'event $1'))}</code>
              <Side sign="−" value={one.before} />
              <Side sign="+" value={one.after} />
            </div>
          ))}
        </section>
      ))}
    </>
  );
}

function Side({ sign, value }: { sign: string; value: Json }) {
  if (value === null || value === undefined) return null;
  return (
    <div class={sign === '+' ? 'after' : 'before'}>
      <span aria-label={sign === '+' ? 'after' : 'before'}>{sign}</span>
      <LongText text={words(value)} />
    </div>
  );
}

/** A message as its texts, anything else as JSON. */
function words(value: Json): string {
  if (typeof value === 'string') return value;
  if (value && typeof value === 'object' && !Array.isArray(value)) {
    if (typeof value.text === 'string') return value.text;
    if (typeof value.summary === 'string') return value.summary;
    if (Array.isArray(value.content)) {
      return value.content
        .map((part) => {
          const piece = part as { [key: string]: Json };
          return typeof piece.text === 'string' ? piece.text : `${piece.name} ${JSON.stringify(piece.input)}${piece.output ? `\n${piece.output}` : ''}${piece.error ? `\n${piece.error}` : ''}`;
        })
        .join('\n');
    }
  }
  return pretty(value);
}
