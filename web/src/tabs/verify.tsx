// Whether the session is as it was written.
import { of } from '../api';
import { count, plural } from '../format';
import type { Json } from '../types';
import { Panel, useLoad } from '../ui';
import { Data } from './data';
import { save } from './request';
import type { TabProps } from '.';

interface Verified { report?: boolean; damage: Json[]; anomalies: Json[]; events: number; batches: number; blobs: number; sessions: { session: string; next: number; digest: string }[]; withheld?: { texts: number; withheld: number; erased: number } | null }

export function Verify({ api, id, head }: TabProps) {
  const loaded = useLoad(`${id} ${head}`, (signal) => api.get<Verified>(of(id, '/verify'), {}, signal));
  return (
    <Panel loaded={loaded}>
      {(found) => (
        <>
          {found.damage.length === 0 ? <p class="lead"><b class="good">{plural(found.events, 'event')}, integrity verified</b></p> : <p class="lead"><b class="problem">{plural(found.damage.length, 'damaged place')}</b></p>}
          {found.report && <p>This is what annals found when it wrote this file. A page cannot prove itself: check the export that is in it with <code>annals verify FILE.html</code>, or with <code>tests/verify_log.py</code>. <button type="button" class="quiet" onClick={() => void api.bytes('/export').then((bytes) => save(bytes, `${id}.jsonl`))}>save the export</button></p>}
          {found.withheld && found.withheld.withheld + found.withheld.erased > 0 && <p>{count(found.withheld.withheld)} of {plural(found.withheld.texts, 'text')} withheld, {count(found.withheld.erased)} erased; everything else and the order of all events proved.</p>}
          <p class="dim">Every digest of {plural(found.batches, 'batch').replace('batchs', 'batches')} was computed again from the stored bytes, with {plural(found.blobs, 'long text')}. Compare the head digest with one that you noted earlier to know that nothing was removed.</p>
          <dl class="facts">
            {found.sessions.map((one) => <div key={one.session}><dt>head of {count(one.next)} events</dt><dd><code class="wrap">{one.digest}</code></dd></div>)}
            <div><dt>the same by hand</dt><dd><code class="wrap">annals verify {found.report ? 'FILE.html' : id}</code></dd></div>
          </dl>
          {found.damage.length > 0 && <><h2>Damage</h2><Data value={found.damage} /></>}
          {found.anomalies.length > 0 && <><h2>Unusual, not damaged</h2><Data value={found.anomalies} /></>}
        </>
      )}
    </Panel>
  );
}
