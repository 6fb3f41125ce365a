// How much of each request a prompt cache can reuse, and what broke it.
import { useState } from 'preact/hooks';
import { of } from '../api';
import { brief, count, dollars, oneLine } from '../format';
import type { Cache, Json } from '../types';
import { Empty, Panel, useLoad } from '../ui';
import { PAUSE, type TabProps } from '.';

// Comparing all requests of a long session takes seconds; the newest are what is asked about most.
const NEWEST = 200;
const SHOWN = 1000;

/** As `annals cache` says it. */
const CAUSES: Record<string, string> = {
  'model-switch': 'another model', 'agent-switch': 'another agent', 'agent-text': 'the text of the agent changed', tools: 'other tools', baseline: 'new system prompt', prune: 'outputs pruned', 'compaction-undone': 'compaction undone',
  pin: 'message pinned or unpinned', epoch: 'context messages left with a new epoch', 'time-passed': 'time passed', rewritten: 'an earlier message changed', unknown: 'no event explains it',
};
const words = (name: string): string => CAUSES[name] ?? name.replace(/-/g, ' ');
const cause = (value: Json): string => (typeof value === 'string' ? words(value) : Object.entries(value as object).map(([name, of]) => `${words(name)} (${String(of).replace(/-/g, ' ')})`).join(', '));

export function CacheTab({ api, id, at, go }: TabProps) {
  const [all, setAll] = useState(false);
  const loaded = useLoad(`${id}@${at} ${all}`, (signal) => api.get<Cache>(of(id, '/cache'), { at, last: all ? undefined : NEWEST }, signal), PAUSE);
  return (
    <Panel loaded={loaded}>
      {(cache) => cache.requests.length === 0 ? <Empty>No request up to here.</Empty> : (
        <>
          <p class="lead">{cache.breaks === 0 ? 'No request broke the prefix of the one before.' : <><b class="problem">{cache.breaks} {cache.breaks === 1 ? 'break' : 'breaks'}</b>{cache.price ? `, about ${dollars(cache.price)}` : ''}</>}{!all && cache.requests[0]!.step.number > 1 && <span class="dim"> The newest {cache.requests.length} requests. <button type="button" class="quiet" onClick={() => setAll(true)}>compare all</button></span>}</p>
          <table class="data">
            <thead><tr><th scope="col" class="n">Request</th><th scope="col" class="n">Tokens</th><th scope="col" class="n">Same prefix</th><th scope="col">Reusable</th><th scope="col" class="n">From cache</th><th scope="col">Break</th></tr></thead>
            <tbody>
              {cache.requests.slice(-SHOWN).map((row) => {
                const share = row.whole.bytes ? row.shared.bytes / row.whole.bytes : 0;
                return (
                  <tr key={row.step.number} class={row.break ? 'bad' : ''}>
                    <td class="n"><button type="button" class="quiet" onClick={() => go(row.step.seq + 1)}>{row.step.number}</button></td>
                    <td class="n">{brief(row.whole.tokens)}</td>
                    <td class="n">{Math.round(share * 100)}%</td>
                    <td class="meter"><i style={{ width: `${share * 100}%` }} aria-hidden="true" /></td>
                    <td class="n">{row.usage ? count(row.usage.cache_read) : '–'}</td>
                    <td>{row.break ? <>{oneLine(cause(row.break.cause))} in {oneLine(row.break.part)}, {brief(row.break.tokens)} tokens{row.break.price ? `, ${dollars(row.break.price)}` : ''}{row.break.fact && <> · <button type="button" class="quiet" onClick={() => go(row.break!.fact!.seq + 1)}>event {row.break.fact.seq}</button></>}</> : ''}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </>
      )}
    </Panel>
  );
}
