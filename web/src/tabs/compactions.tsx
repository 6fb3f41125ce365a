// Compactions: what was before, what is after, what was lost.
import { useState } from 'preact/hooks';
import { of } from '../api';
import { count, visible } from '../format';
import type { Compaction } from '../types';
import { Empty, LongText, Panel, useLoad } from '../ui';
import { PAUSE, type TabProps } from '.';

// Each has the texts of its summary and of what was lost.
const NEWEST = 10;

export function Compactions({ api, id, at, go }: TabProps) {
  const [all, setAll] = useState(false);
  // One more than is shown says that there are older ones.
  const loaded = useLoad(`${id}@${at} ${all}`, (signal) => api.get<Compaction[]>(of(id, '/compactions'), { at, last: all ? undefined : NEWEST + 1 }, signal), PAUSE);
  return (
    <Panel loaded={loaded}>
      {(list) => list.length === 0 ? <Empty>No compaction up to here.</Empty> : (
        <>
          {!all && list.length > NEWEST && <p class="lead dim">The newest {NEWEST} compactions. <button type="button" class="quiet" onClick={() => setAll(true)}>show all</button></p>}
          {[...(all ? list : list.slice(-NEWEST))].reverse().map((one) => {
            const sentences = (one.fidelity?.sentences ?? []).filter((sentence) => sentence.kept < sentence.of);
            // What is listed by its sentences is not listed again.
            const listed = (text: string) => sentences.some((sentence) => text.includes(sentence.text));
            const lost = [...(one.unmentioned?.instructions ?? []).filter((text) => !listed(text)), ...(one.unmentioned?.names ?? [])];
            return (
              <section key={one.seq} class="change">
                <h2>Event {count(one.seq)}: {visible(one.reason)}, {visible(one.outcome)}</h2>
                <p class="lead dim">
                  {one.messages.length} messages became a summary, {one.kept.length} stayed, {one.pinned.length} pinned · about {count(one.after)} tokens after
                  {one.fidelity && <> · {one.fidelity.percent}% of what the user asked is mentioned</>} ·{' '}
                  <button type="button" class="quiet" onClick={() => go(one.seq)}>before</button> <button type="button" class="quiet" onClick={() => go((one.ended ?? one.seq) + 1)}>after</button>
                </p>
                {(lost.length > 0 || sentences.length > 0) && (
                  <>
                    <h3>Not mentioned in the summary</h3>
                    <ul class="plain lost">
                      {sentences.map((sentence) => <li key={`${sentence.message}${sentence.text}`}><bdi>{visible(sentence.text)}</bdi> <button type="button" class="quiet" onClick={() => go(sentence.message + 1)}>{sentence.message}</button></li>)}
                      {lost.map((text) => <li key={text}><bdi>{visible(text)}</bdi></li>)}
                    </ul>
                  </>
                )}
                {one.summary && <><h3>Summary</h3><LongText text={one.summary} className="c-compaction" /></>}
              </section>
            );
          })}
        </>
      )}
    </Panel>
  );
}
