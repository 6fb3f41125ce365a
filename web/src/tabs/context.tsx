// The system prompt in force, the values behind it, and the epochs.
import { CLIP, of } from '../api';
import { count, visible } from '../format';
import type { Baseline, Epoch, Json, Message } from '../types';
import { Empty, LongText, Panel, useLoad } from '../ui';
import { pretty } from './data';
import { PAUSE, type TabProps } from '.';

interface Shown { baseline: Baseline | null; snapshot: { [key: string]: { value: Json; removed?: string | null } }; epochs: Epoch[]; updates: Message[] }

export function ContextTab({ api, id, at, go }: TabProps) {
  const loaded = useLoad<Shown>(`${id}@${at}`, async (signal) => {
    const view = <T,>(name: string, only?: string) => api.get<T>(of(id, `/views/${name}`), { at, only, clip: CLIP }, signal);
    const [baseline, snapshot, epochs, history] = await Promise.all([view<Baseline | null>('baseline'), view<Shown['snapshot']>('snapshot'), view<Epoch[]>('epochs'), view<Message[]>('history', 'system')]);
    return { baseline, snapshot, epochs, updates: Array.isArray(history) ? history.filter((message) => message.type === 'system') : [] };
  }, PAUSE);
  return (
    <Panel loaded={loaded}>
      {({ baseline, snapshot, epochs, updates }) => (
        <>
          <h2>System prompt</h2>
          {!baseline ? <Empty>No system prompt is in force here. Imported sessions may not have recorded one.</Empty> : (
            <>
              <p class="lead dim">
                Epoch {baseline.epoch} ({baseline.cause}), since <button type="button" class="quiet" onClick={() => go(baseline.seq + 1)}>event {count(baseline.seq)}</button> · <bdi>{visible(baseline.location)}</bdi> · {count(baseline.text.length)} characters
              </p>
              {baseline.blocked && <p class="problem">A replacement ({baseline.blocked.cause}) was due at event {baseline.blocked.seq}; these sources could not be read: {visible(baseline.blocked.keys.join(', '))}</p>}
              <ol class="spans">
                {baseline.parts.map((part, index) => (
                  <li key={index} class="span c-context">
                    <div class="gutter"><b>{visible(String(part.key ?? 'text'))}</b></div>
                    <div class="body"><LongText text={String(part.text ?? '')} /></div>
                  </li>
                ))}
              </ol>
              {baseline.parts.length === 0 && baseline.text && <LongText text={baseline.text} />}
            </>
          )}
          <h2>Updates since</h2>
          {updates.length === 0 ? <Empty>None.</Empty> : (
            <ol class="spans">
              {updates.map((message) => (
                <li key={message.seq} class="span c-context">
                  <div class="gutter"><b>{visible(((message.keys as string[] | undefined) ?? []).join(', '))}</b></div>
                  <div class="body"><LongText text={String(message.text ?? '')} /></div>
                  <button type="button" class="quiet seq" onClick={() => go(message.seq + 1)}>{count(message.seq)}</button>
                </li>
              ))}
            </ol>
          )}
          <h2>Snapshot: the last value of each source</h2>
          {Object.keys(snapshot ?? {}).length === 0 ? <Empty>Empty.</Empty> : (
            <dl class="facts wide">
              {Object.entries(snapshot).map(([key, entry]) => <div key={key}><dt>{visible(key)}</dt><dd><LongText text={typeof entry.value === 'string' ? entry.value : pretty(entry.value)} /></dd></div>)}
            </dl>
          )}
          <h2>Epochs</h2>
          {(epochs ?? []).length === 0 ? <Empty>None.</Empty> : (
            <table class="data">
              <thead><tr><th scope="col" class="n">Epoch</th><th scope="col">Cause</th><th scope="col" class="n">Event</th></tr></thead>
              <tbody>{epochs.map((epoch) => <tr key={epoch.epoch}><td class="n">{epoch.epoch}</td><td>{epoch.cause}</td><td class="n"><button type="button" class="quiet" onClick={() => go(epoch.seq + 1)}>{count(epoch.seq)}</button></td></tr>)}</tbody>
            </table>
          )}
        </>
      )}
    </Panel>
  );
}
