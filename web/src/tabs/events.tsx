// The events around a Cut, each in full on demand.
import { useState } from 'preact/hooks';
import { CLIP, LINE, of, type Api } from '../api';
import { clock, count, visible } from '../format';
import type { EventPage, LogEvent } from '../types';
import { LongText, Panel, useLoad } from '../ui';
import { pretty } from './data';
import { brief } from './event';
import { save } from './request';
import { PAUSE, type TabProps } from '.';

const AROUND = 60;

export function Events({ api, id, at, head, go }: TabProps) {
  const [open, setOpen] = useState<number | null>(null);
  const from = Math.max(0, (at ?? 0) - AROUND);
  const loaded = useLoad(`${id}@${at}/${head}`, (signal) => api.get<EventPage>(of(id, '/events'), { from, limit: AROUND + 40, clip: LINE }, signal), PAUSE);
  return (
    <Panel loaded={loaded}>
      {(page) => (
        <ol class="events">
          {[...page.events].reverse().map((event) => (
            <li key={event.seq} class={`${event.seq === (at ?? 0) - 1 ? 'chosen' : ''}${event.seq >= (at ?? 0) ? ' future' : ''}`}>
              <button type="button" class="row" aria-expanded={open === event.seq} onClick={() => setOpen(open === event.seq ? null : event.seq)}>
                <span class="n">{count(event.seq)}</span><span class="dim">{clock(event.at)}</span><code>{visible(event.type)}</code><span class="what"><bdi>{brief(event)}</bdi></span>
              </button>
              {open === event.seq && <Whole api={api} id={id} seq={event.seq} go={go} />}
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}

/** One event in full, except for texts that are too long to be read here. */
function Whole({ api, id, seq, go }: { api: Api; id: string; seq: number; go: (seq: number) => void }) {
  const one = { from: seq, limit: 1 };
  const loaded = useLoad<LogEvent | null>(`${id} ${seq}`, async (signal) => (await api.get<EventPage>(of(id, '/events'), { ...one, clip: CLIP }, signal)).events[0] ?? null);
  const [problem, setProblem] = useState('');
  const download = () => {
    api.get<EventPage>(of(id, '/events'), one).then((page) => save(JSON.stringify(page.events[0]), `event-${seq}.json`), (error: Error) => setProblem(error.message));
  };
  return (
    <Panel loaded={loaded}>
      {(event) => (
        <>
          <p><button type="button" class="quiet" onClick={() => go(seq + 1)}>go to the place after it</button> <button type="button" class="quiet" onClick={download}>download</button> {problem && <span class="problem">{visible(problem)}</span>}</p>
          <LongText text={pretty(event)} className="code" />
        </>
      )}
    </Panel>
  );
}
