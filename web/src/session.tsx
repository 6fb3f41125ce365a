// One session at one Cut: the scrubber, the timeline, and what can be known there.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Actions } from './actions';
import { LINE, of, type Api } from './api';
import { clock, count, oneLine, short, visible } from './format';
import { heard, Live, type LiveTexts, type LiveUpdate } from './live';
import { format, linkTo, TABS, type Place, type Route } from './route';
import { Scrubber } from './scrubber';
import { SessionStore } from './store';
import { TabPanel } from './tabs';
import { seenAt } from './tabs/seen';
import { Timeline } from './timeline';
import type { EventPage, LogEvent } from './types';
import { brief } from './tabs/event';
import { typing, useLoad } from './ui';

type SessionRoute = Extract<Route, { page: 'session' }>;

const NAMES: Record<string, string> = {
  seen: 'What the model saw', changes: 'Changes', history: 'Next request', transcript: 'Transcript', context: 'Context', request: 'Request',
  usage: 'Usage', cache: 'Cache', compactions: 'Compactions', files: 'Files', events: 'Events', verify: 'Verify',
};

export function SessionPage({ api, write, route }: { api: Api; write: boolean; route: SessionRoute }) {
  const id = route.place.session;
  const store = useMemo(() => new SessionStore(api, id), [api, id]);
  const [version, setVersion] = useState(0);
  const [error, setError] = useState<string | null>(null);
  // Null until somebody moves.
  const [chosen, setAt] = useState<number | null>(null);
  const at = chosen ?? store.start;
  const [tab, setTab] = useState(route.tab);
  const [mark, setMark] = useState(route.mark);
  const [current, setCurrent] = useState(-1);
  const [live, setLive] = useState<'off' | 'on' | 'lost'>('off');
  const [going, setGoing] = useState(false);
  const [say, setSay] = useState('');
  const [onItsWay, setOnItsWay] = useState<LiveTexts>(new Map());
  const place = useRef(at);
  const moving = useRef(Promise.resolve());
  place.current = at;
  const following = useRef(route.place.at === null);

  // Before the session is asked for: in a report the answer is there at once.
  useLayoutEffect(() => store.subscribe(() => setVersion(store.version)), [store]);

  const go = useCallback((seq: number) => {
    const wanted = Math.max(0, Math.min(seq, store.head.seq));
    following.current = wanted >= store.head.seq;
    place.current = wanted;
    setAt(wanted);
  }, [store]);

  useLayoutEffect(() => {
    let gone = false;
    // The view that is shown first, too, where it is the usual one.
    const seen = route.tab === 'seen' ? api.ahead(of(id, '/why'), seenAt(route.place.at)) : null;
    store.open(route.place.at, (start) => seen?.(seenAt(start))).then(
      () => {
        if (gone) return;
        store.reach(store.start).catch((problem: Error) => setError(problem.message));
        store.sketch().catch(() => {});
      },
      (problem: Error) => gone || setError(problem.message),
    );
    return () => {
      gone = true;
    };
  }, [store]);

  // Links typed or followed while the page is open. Before the page is drawn: a key that follows must not be undone.
  useLayoutEffect(() => {
    setTab(route.tab);
    setMark(route.mark);
    if (route.place.at !== null && store.session && route.place.at !== place.current) go(route.place.at);
  }, [route]);

  // The address is the state, written once the scrubbing pauses.
  useEffect(() => {
    if (!store.session) return;
    const timer = setTimeout(() => {
      const written = format({ ...route, place: { session: id, at }, tab, mark });
      if (written !== location.hash) history.replaceState(null, '', written);
    }, 150);
    return () => clearTimeout(timer);
  }, [at, tab, mark, store.session, route]);

  useLayoutEffect(() => {
    let gone = false;
    const here = store.indexAt(at);
    setCurrent(here);
    if (store.session && store.total) store.reach(at).then((index) => !gone && setCurrent(index)).catch(() => {});
    return () => {
      gone = true;
    };
  }, [at, version]);

  useEffect(() => {
    if (!store.session) return;
    const ending = new AbortController();
    let timer = 0;
    const appended = () => {
      clearTimeout(timer);
      timer = window.setTimeout(async () => {
        const follow = following.current;
        await store.grown().catch(() => {});
        if (follow) go(store.head.seq);
      }, 100);
    };
    void api.follow(of(id, '/events?deltas=true&clip=0'), String(store.head.seq - 1), ending.signal, (message) => {
      if (message.event === 'delta' || message.event === 'settled') {
        const update = JSON.parse(message.data) as LiveUpdate;
        // Its event is drawn a moment later.
        setTimeout(() => setOnItsWay((texts) => heard(texts, update)), update.type === 'settled' ? 400 : 0);
        return;
      }
      if (message.id !== null && Number(message.id) >= store.head.seq) appended();
    }, (connected) => {
      setLive(connected ? 'on' : 'lost');
      // What is on its way is sent again from its beginning.
      if (connected) setOnItsWay(new Map());
    });
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [store, store.session !== null]);

  const copy = () => {
    navigator.clipboard?.writeText(location.href).then(() => setSay('Link copied'), () => setSay('The browser refused to copy; the link is in the address bar'));
  };

  const press = useCallback((event: KeyboardEvent) => {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || !store.session) return;
    const scrolls = (event.target as HTMLElement).closest?.('.virtual, .panel, pre') && (event.key === 'ArrowUp' || event.key === 'ArrowDown');
    const here = place.current;
    const tabs = TABS as readonly string[];
    const moves: Record<string, (here: number) => Promise<number | null> | number> = {
      ArrowRight: (here) => store.step(here, event.shiftKey ? 10 : 1),
      ArrowLeft: (here) => store.step(here, event.shiftKey ? -10 : -1),
      '.': (here) => store.step(here, 1),
      ',': (here) => store.step(here, -1),
      ']': (here) => store.turn(here, 1),
      '[': (here) => store.turn(here, -1),
      e: (here) => store.error(here),
      E: (here) => store.error(here, true),
      Home: () => store.snap(1),
      End: () => store.head.seq,
    };
    const onTab = (event.target as HTMLElement).getAttribute?.('role') === 'tab';
    if (onTab && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
      event.preventDefault();
      const next = tabs[(tabs.indexOf(tab) + (event.key === 'ArrowRight' ? 1 : tabs.length - 1)) % tabs.length]!;
      setTab(next);
      requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
      return;
    }
    const found = moves[event.key];
    if (found && !scrolls) {
      event.preventDefault();
      // One after another, each from where the one before went.
      moving.current = moving.current.then(async () => {
        try {
          const seq = await found(place.current);
          if (seq === null) setSay(event.key === 'e' ? 'No error after this place' : 'No error before this place');
          else go(seq);
        } catch (problem) {
          setSay((problem as Error).message);
        }
      });
    } else if (event.key === 'm') {
      setMark(mark === here ? null : here);
      setSay(mark === here ? 'Mark removed' : `Marked ${here}`);
    } else if (event.key === 'g') {
      event.preventDefault();
      setGoing(true);
    } else if (event.key === 'i' && write) {
      event.preventDefault();
      document.querySelector<HTMLElement>('.actions textarea')?.focus();
    } else if (event.key === '/') {
      event.preventDefault();
      setTab('seen');
      focusSoon('.panel input[type=search]');
    } else if (event.key === 'j' || event.key === 'k') {
      event.preventDefault();
      nextIn(document.querySelector('.panel'), event.key === 'j' ? 1 : -1);
    } else if (event.key === 'c') copy();
    else if (/^[1-9]$/.test(event.key)) setTab(tabs[Number(event.key) - 1]!);
    else if (event.key === '0') setTab(tabs[9]!);
  }, [store, mark, tab]);

  useEffect(() => {
    const handler = (event: KeyboardEvent) => press(event);
    addEventListener('keydown', handler);
    return () => removeEventListener('keydown', handler);
  }, [press]);

  useEffect(() => {
    if (!say) return;
    const timer = setTimeout(() => setSay(''), 4000);
    return () => clearTimeout(timer);
  }, [say]);

  // A place inside of a batch means its end.
  const jump = (seq: number) => void store.snap(seq).then(go).catch(() => go(seq));
  const pending = useRef(0);
  const drag = (seq: number) => {
    go(seq);
    const ticket = ++pending.current;
    setTimeout(() => {
      if (ticket === pending.current) store.snap(seq).then((cut) => ticket === pending.current && go(cut)).catch(() => {});
    }, 60);
  };

  if (error) return <main class="page"><p class="problem" role="alert">{visible(error)}</p><p><a href="#/">All sessions</a></p></main>;
  const session = store.session;
  if (!session) return <main class="page"><p class="empty">Loading…</p></main>;
  const turn = current >= 0 ? store.turns[current] ?? null : null;
  const parts: (Place & { main: boolean })[] = [{ session: id, at, main: true }];
  if (route.with) parts.push({ ...route.with, main: false });
  return (
    <main class="session">
      <header class="about">
        <div>
          <h1><bdi>{oneLine(session.title || 'untitled')}</bdi></h1>
          <p class="dim">
            <bdi>{oneLine(session.agent)}</bdi> · <bdi>{oneLine(session.model ?? '')}</bdi> · <bdi>{oneLine(session.directory)}</bdi> · <span title={session.session}>{short(session.session)}</span>
            {session.parent && <> · <a href={linkTo(session.parent)}>parent</a></>}
            {session.children.length > 0 && <> · {session.children.length} {session.children.length === 1 ? 'child' : 'children'}</>}
          </p>
        </div>
        <div class="badges">
          {session.running && <span class="badge run">running</span>}
          {live !== 'off' && <span class={`badge ${live === 'on' ? 'live' : 'lost'}`} title={live === 'on' ? 'New events appear as they are written' : 'The connection was lost; connecting again'}>{live === 'on' ? 'live' : 'disconnected'}</span>}
          <button type="button" class="badge proof" title={`Digest after event ${store.head.seq - 1}: ${store.head.digest}`} onClick={() => setTab('verify')}>head {store.head.digest.slice(0, 12)}</button>
        </div>
      </header>
      <div class="axis">
        <Scrubber at={at} head={store.head.seq} mark={mark} turns={store.loaded()} axis={store.axis} version={version} turn={turn} drag={drag} />
        <div class="here">
          {going ? <GoTo store={store} done={(seq) => { setGoing(false); if (seq !== null) go(seq); }} /> : (
            <button type="button" class="quiet" title="Go to an event or turn (g)" onClick={() => setGoing(true)}><b>{count(at)}</b> of {count(store.head.seq)}</button>
          )}
          <LastEvent api={api} id={id} at={at} />
          <span class="grow" aria-live="polite">{say}</span>
          {mark !== null && <span class="dim">marked {count(mark)} <button type="button" class="quiet" onClick={() => setMark(null)}>clear</button></span>}
          <button type="button" class="quiet" title="Mark this place, to compare with it (m)" onClick={() => setMark(mark === at ? null : at)}>mark</button>
          <Compare route={route} at={at} mark={mark} tab={tab} />
          <button type="button" class="quiet" title="Copy a link to exactly this (c)" onClick={copy}>link</button>
        </div>
      </div>
      <Timeline store={store} version={version} at={at} current={current} go={jump} />
      <div class="work">
        <nav class="tabs" role="tablist" aria-label="Views">
          {TABS.map((name, index) => (
            <button type="button" key={name} id={`tab-${name}`} role="tab" aria-selected={name === tab} aria-controls="panel" tabIndex={name === tab ? 0 : -1} title={index < 10 ? `key ${(index + 1) % 10}` : undefined} onClick={() => setTab(name)}>{NAMES[name]}</button>
          ))}
        </nav>
        <div class={`panels${parts.length > 1 ? ' two' : ''}`} id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
          {parts.map((part) => (
            <section class="panel" key={part.main ? 'main' : 'other'} tabIndex={0} aria-label={part.main ? NAMES[tab] : `${NAMES[tab]}, second`}>
              {parts.length > 1 && <p class="which dim">{part.main ? 'here' : <a href={linkTo(part.session, part.at, tab)}>{short(part.session)}</a>} at {part.at === null ? 'its end' : count(part.at)}</p>}
              <TabPanel api={api} tab={tab} id={part.session} at={part.at ?? (part.session === id ? store.head.seq : null)} head={part.main ? store.head.seq : null} mark={part.main ? mark : null} other={part.main && route.with ? route.with : null} before={(seq) => store.step(seq, -1)} go={jump} />
            </section>
          ))}
        </div>
        <Live texts={onItsWay} />
        {write && <Actions api={api} id={id} at={at} head={store.head.seq} say={setSay} />}
      </div>
    </main>
  );
}

/** Focuses what is drawn once a view is there. */
function focusSoon(selector: string, tries = 60): void {
  const found = document.querySelector<HTMLElement>(selector);
  if (found) found.focus();
  else if (tries > 0) requestAnimationFrame(() => focusSoon(selector, tries - 1));
}

/** Focuses the next line of a view that can be opened or followed, or the one before. */
function nextIn(panel: Element | null, step: number): void {
  const all = [...(panel?.querySelectorAll<HTMLElement>('button.gutter, .events .row, .data button, .change button, .lead button') ?? [])];
  const here = all.indexOf(document.activeElement as HTMLElement);
  const next = here < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + step));
  all[next]?.focus();
}

function LastEvent({ api, id, at }: { api: Api; id: string; at: number }) {
  const loaded = useLoad<LogEvent | null>(at > 0 ? `${id}@${at}` : null, async (signal) => (await api.get<EventPage>(of(id, '/events'), { from: at - 1, limit: 1, clip: LINE }, signal)).events[0] ?? null, 30);
  const event = loaded.data;
  if (!event || at === 0) return <span class="dim last">before the first event</span>;
  return <span class="last"><code>{event.type}</code> <span class="dim">{clock(event.at)}</span> <bdi>{brief(event)}</bdi></span>;
}

function GoTo({ store, done }: { store: SessionStore; done: (seq: number | null) => void }) {
  const submit = async (text: string) => {
    const turn = /^t(?:urn)?[: ]?(\d+)$/.exec(text.trim());
    if (turn) {
      for (const index of [Number(turn[1]) - 1, Number(turn[1])]) {
        if (index < 0) continue;
        await store.page(Math.min(index, store.total - 1)).catch(() => {});
        const found = store.turns[index];
        if (found?.turn === Number(turn[1])) return done(await store.snap(found.first + 1));
      }
      return done(null);
    }
    const seq = Number(text);
    return done(Number.isInteger(seq) && text.trim() ? await store.snap(seq < 0 ? store.head.seq + seq : seq) : null);
  };
  return (
    <form onSubmit={(event) => { event.preventDefault(); void submit((event.currentTarget.elements.namedItem('to') as HTMLInputElement).value); }}>
      <input name="to" class="goto" aria-label="Go to an event number, or turn:N" placeholder="120 or turn:3" ref={(field) => field?.focus()} onKeyDown={(event) => event.key === 'Escape' && done(null)} onBlur={() => done(null)} />
    </form>
  );
}

function Compare({ route, at, mark, tab }: { route: SessionRoute; at: number; mark: number | null; tab: string }) {
  const [asking, setAsking] = useState(false);
  const id = route.place.session;
  const show = (other: Place | null) => {
    location.hash = format({ ...route, place: { session: id, at }, tab, mark, with: other });
  };
  if (route.with) return <button type="button" class="quiet" onClick={() => show(null)}>close second</button>;
  if (asking) {
    return (
      <form onSubmit={(event) => {
        event.preventDefault();
        const text = (event.currentTarget.elements.namedItem('with') as HTMLInputElement).value.trim();
        setAsking(false);
        const found = /^(.*?)(?:@(\d+))?$/.exec(text)!;
        if (text) show(/^\d+$/.test(text) ? { session: id, at: Number(text) } : { session: found[1]!, at: found[2] ? Number(found[2]) : null });
      }}>
        <input name="with" class="goto" aria-label="Event number, session, or session@event to show next to this" placeholder="event or session@event" ref={(field) => field?.focus()} onKeyDown={(event) => event.key === 'Escape' && setAsking(false)} />
      </form>
    );
  }
  return <button type="button" class="quiet" title="Show another place or session next to this" onClick={() => (mark !== null && mark !== at ? show({ session: id, at: mark }) : setAsking(true))}>side by side</button>;
}
