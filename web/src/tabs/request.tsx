// The exact bytes of a request, and whether the log proves them.
import { useEffect, useState } from 'preact/hooks';
import { of, Problem } from '../api';
import { clock, count, oneLine } from '../format';
import type { RequestRow } from '../types';
import { Empty, LongText, Panel, useLoad } from '../ui';
import { PAUSE, type TabProps } from '.';

const SHOWN = 60;

export function RequestTab({ api, id, at, go }: TabProps) {
  const [chosen, setChosen] = useState<number | null>(null);
  useEffect(() => setChosen(null), [at]);
  const list = useLoad(`${id}@${at}`, async (signal) => {
    const page = await api.get<RequestRow[] | { requests: RequestRow[] }>(of(id, '/requests'), { at, last: SHOWN }, signal);
    return Array.isArray(page) ? page : page.requests;
  }, PAUSE);
  return (
    <Panel loaded={list}>
      {(rows) => {
        const here = rows.find((row) => row.number === chosen) ?? rows[rows.length - 1];
        if (!here) return <Empty>No request was recorded up to here. “What the model saw” rebuilds one from the log.</Empty>;
        return (
          <>
            <table class="data pick">
              <thead><tr><th scope="col" class="n">No.</th><th scope="col">Purpose</th><th scope="col">Model</th><th scope="col">Sent</th><th scope="col" class="n">Event</th><th scope="col">Digest</th></tr></thead>
              <tbody>
                {rows.slice(-SHOWN).map((row) => (
                  <tr key={row.number} class={row === here ? 'chosen' : ''}>
                    <td class="n"><button type="button" class="quiet" aria-pressed={row === here} onClick={() => setChosen(row.number)}>{row.number}</button></td>
                    <td>{row.purpose}{row.attempt > 1 ? `, attempt ${row.attempt}` : ''}</td><td><bdi>{oneLine(row.model, 40)}</bdi></td><td>{clock(row.at)}</td>
                    <td class="n"><button type="button" class="quiet" onClick={() => go(row.seq + 1)}>{count(row.seq)}</button></td><td><code>{row.digest.slice(0, 16)}</code></td>
                  </tr>
                ))}
              </tbody>
            </table>
            <Body key={here.number} api={api} id={id} row={here} />
          </>
        );
      }}
    </Panel>
  );
}

interface Rebuilt { proved?: boolean | null; recorded?: string; digest?: string }

function Body({ api, id, row }: { api: TabProps['api']; id: string; row: RequestRow }) {
  const loaded = useLoad(`${id} ${row.number}`, async (signal) => {
    const path = of(id, `/requests/${row.number}`);
    let reason = 'The exact body was not recorded; this is the request in neutral form';
    const body = api.bytes(`${path}/body`, signal).catch((error: Error) => {
      if (error instanceof Problem && error.title === 'not in this report') reason = error.detail;
      return null;
    });
    const [rebuilt, bytes] = await Promise.all([api.get<Rebuilt>(path, {}, signal), body]);
    return { rebuilt, bytes, reason };
  });
  const [laid, setLaid] = useState(true);
  return (
    <Panel loaded={loaded}>
      {({ rebuilt, bytes, reason }) => {
        const text = bytes ? new TextDecoder().decode(bytes) : JSON.stringify(rebuilt);
        return (
          <>
            <p class="lead">
              {rebuilt.proved === true ? <b class="good">Proved: rebuilt from the log, it has the recorded digest.</b> : rebuilt.proved === false ? <b class="problem">Rebuilt from the log, it differs from the recorded digest.</b> : <span class="dim">No digest was recorded for it.</span>}{' '}
              <span class="dim">{bytes ? `${count(bytes.byteLength)} bytes, exactly as sent` : reason}</span>{' '}
              <label><input type="checkbox" checked={laid} onChange={() => setLaid(!laid)} /> indented</label>{' '}
              <button type="button" class="quiet" onClick={() => save(bytes ?? text, `request-${row.number}.json`)}>download</button>
            </p>
            <LongText text={laid ? indented(text) : text} className="code" />
          </>
        );
      }}
    </Panel>
  );
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export function save(content: ArrayBuffer | string, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
