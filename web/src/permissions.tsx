// Permission questions of the sessions that this server runs, and those that other processes ask in a terminal: a bar above every page, as long as one waits.
import { useEffect, useRef, useState } from 'preact/hooks';
import { of, type Api } from './api';
import { oneLine, plural, short } from './format';
import { linkTo } from './route';
import type { Json } from './types';
import { LongText, typing } from './ui';

export interface Asked { permission: string; session: string; call: string; tool: string; action: string; resources: string[]; input: string; elsewhere: boolean }

const LOOK = 700;

/** Asks again and again what waits; a tab that is not seen asks less often. */
export function PermissionBar({ api }: { api: Api }) {
  const [waiting, setWaiting] = useState<Asked[]>([]);
  const [error, setError] = useState<string | null>(null);
  const bar = useRef<HTMLElement>(null);

  useEffect(() => {
    let timer = 0;
    let gone = false;
    const look = async () => {
      const found = await api.get<{ permissions: Asked[] }>('/permissions').catch(() => null);
      if (gone) return;
      if (found) setWaiting((before) => (JSON.stringify(before) === JSON.stringify(found.permissions) ? before : found.permissions));
      timer = window.setTimeout(() => void look(), document.hidden ? LOOK * 5 : LOOK);
    };
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [api]);

  useEffect(() => {
    document.title = waiting.length ? `(${waiting.length}) Annals` : 'Annals';
  }, [waiting.length]);

  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.key !== 'p' || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      bar.current?.querySelector('button')?.focus();
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);

  const answer = async (asked: Asked, body: Json) => {
    try {
      await api.post(of(asked.session, `/permissions/${encodeURIComponent(asked.permission)}`), body);
      setError(null);
    } catch (problem) {
      setError((problem as Error).message);
    }
    setWaiting((before) => before.filter((one) => one.permission !== asked.permission));
  };

  if (waiting.length === 0 && !error) return null;
  return (
    <section class="asking" ref={bar} aria-label="Permission questions">
      <p class="hidden" role="status">{waiting.length ? `${plural(waiting.length, 'permission question')} waiting` : ''}</p>
      {error && <p class="problem" role="alert">{error} <button type="button" class="quiet" onClick={() => setError(null)}>close</button></p>}
      {waiting.map((asked) => <Question key={asked.permission} asked={asked} answer={(body) => void answer(asked, body)} />)}
    </section>
  );
}

function Question({ asked, answer }: { asked: Asked; answer: (body: Json) => void }) {
  const [feedback, setFeedback] = useState('');
  return (
    <form class="question" onSubmit={(event) => { event.preventDefault(); answer(feedback.trim() ? { answer: 'reject', feedback: feedback.trim() } : { answer: 'reject' }); }}>
      <div class="what">
        <b>{oneLine(asked.tool, 60)}</b> asks for <b>{oneLine(asked.action, 60)}</b>
        {asked.resources.map((resource) => <code key={resource}><bdi>{oneLine(resource, 400)}</bdi></code>)}
        <a href={linkTo(asked.session)} title="Open the session">{short(asked.session)}</a>
        {asked.elsewhere && <span class="dim">asked in a terminal, too: the first answer counts</span>}
        <details><summary>input</summary><LongText text={pretty(asked.input)} /></details>
      </div>
      <button type="button" class="allow" onClick={() => answer({ answer: 'once' })}>Allow once</button>
      <button type="button" onClick={() => answer({ answer: 'always' })} title="This call and its like, for the rest of the session">Always</button>
      <input value={feedback} aria-label="What the model reads when it is refused" placeholder="what to do instead (optional)" onInput={(event) => setFeedback(event.currentTarget.value)} />
      <button type="submit" class="refuse">Reject</button>
    </form>
  );
}

function pretty(input: string): string {
  try {
    return JSON.stringify(JSON.parse(input), null, 2);
  } catch {
    return input;
  }
}
