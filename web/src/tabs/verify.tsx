// Whether the session is as it was written.
import { of } from '../api';
import { count, plural } from '../format';
import type { Json } from '../types';
import { Panel, useLoad } from '../ui';
import { Data } from './data';
import type { TabProps } from '.';

interface Verified { damage: Json[]; anomalies: Json[]; events: number; batches: number; blobs: number; sessions: { session: string; next: number; digest: string }[] }

export function Verify({ api, id, head }: TabProps) {
  const loaded = useLoad(`${id} ${head}`, (signal) => api.get<Verified>(of(id, '/verify'), {}, signal));
  return (
    <Panel loaded={loaded}>
      {(found) => (
        <>
          {found.damage.length === 0 ? <p class="lead"><b class="good">{plural(found.events, 'event')}, integrity verified</b></p> : <p class="lead"><b class="problem">{plural(found.damage.length, 'damaged place')}</b></p>}
          <p class="dim">Every digest of {plural(found.batches, 'batch').replace('batchs', 'batches')} was computed again from the stored bytes, with {plural(found.blobs, 'long text')}. Compare the head digest with one that you noted earlier to know that nothing was removed.</p>
          <dl class="facts">
            {found.sessions.map((one) => <div key={one.session}><dt>head of {count(one.next)} events</dt><dd><code class="wrap">{one.digest}</code></dd></div>)}
            <div><dt>the same by hand</dt><dd><code class="wrap">annals verify {id}</code></dd></div>
          </dl>
          {found.damage.length > 0 && <><h2>Damage</h2><Data value={found.damage} /></>}
          {found.anomalies.length > 0 && <><h2>Unusual, not damaged</h2><Data value={found.anomalies} /></>}
        </>
      )}
    </Panel>
  );
}
