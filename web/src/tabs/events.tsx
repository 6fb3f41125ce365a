// The events around a Cut, each in full on demand.
import { useState } from 'preact/hooks';
import { of } from '../api';
import { clock, count, visible } from '../format';
import type { EventPage } from '../types';
import { LongText, Panel, useLoad } from '../ui';
import { pretty } from './data';
import { brief } from './event';
import { PAUSE, type TabProps } from '.';

const AROUND = 60;

export function Events({ api, id, at, head, go }: TabProps) {
  const [open, setOpen] = useState<number | null>(null);
  const from = Math.max(0, (at ?? 0) - AROUND);
  const loaded = useLoad(`${id}@${at}/${head}`, (signal) => api.get<EventPage>(of(id, '/events'), { from, limit: AROUND + 40 }, signal), PAUSE);
  return (
    <Panel loaded={loaded}>
      {(page) => (
        <ol class="events">
          {[...page.events].reverse().map((event) => (
            <li key={event.seq} class={`${event.seq === (at ?? 0) - 1 ? 'chosen' : ''}${event.seq >= (at ?? 0) ? ' future' : ''}`}>
              <button type="button" class="row" aria-expanded={open === event.seq} onClick={() => setOpen(open === event.seq ? null : event.seq)}>
                <span class="n">{count(event.seq)}</span><span class="dim">{clock(event.at)}</span><code>{visible(event.type)}</code><span class="what"><bdi>{brief(event)}</bdi></span>
              </button>
              {open === event.seq && <><button type="button" class="quiet" onClick={() => go(event.seq + 1)}>go to the place after it</button><LongText text={pretty(event)} className="code" /></>}
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
