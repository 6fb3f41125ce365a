// Tokens and cost up to a Cut.
import { of } from '../api';
import { count, dollars } from '../format';
import type { Usage } from '../types';
import { Panel, useLoad } from '../ui';
import { PAUSE, type TabProps } from '.';

const ROWS: [keyof Usage, string][] = [['input', 'Input, not from a cache'], ['cache_read', 'Input read from a cache'], ['cache_write', 'Input written to a cache'], ['output', 'Output'], ['reasoning', 'Reasoning']];

export function UsageTab({ api, id, at }: TabProps) {
  const loaded = useLoad(`${id}@${at}`, (signal) => api.get<Usage>(of(id, '/views/usage'), { at }, signal), PAUSE);
  return (
    <Panel loaded={loaded}>
      {(usage) => {
        const most = Math.max(1, ...ROWS.map(([name]) => usage[name] ?? 0));
        return (
          <table class="data usage">
            <thead><tr><th scope="col">Tokens up to here</th><th scope="col" class="n">Number</th><th scope="col"><span class="hidden">Share</span></th></tr></thead>
            <tbody>
              {ROWS.map(([name, words]) => <tr key={name}><td>{words}</td><td class="n">{count(usage[name] ?? 0)}</td><td class="meter"><i style={{ width: `${((usage[name] ?? 0) / most) * 100}%` }} aria-hidden="true" /></td></tr>)}
              <tr class="total"><td>Recorded cost</td><td class="n">{dollars(usage.cost ?? null) || '–'}</td><td class="dim">{usage.unpriced ? `${count(usage.unpriced)} answers without a price` : ''}</td></tr>
            </tbody>
          </table>
        );
      }}
    </Panel>
  );
}
