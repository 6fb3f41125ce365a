// Questions of the sessions that this server runs, and those that other processes ask in a terminal: a bar above every page, as long as one waits.
import { useEffect, useRef, useState } from 'preact/hooks';
import { UserQuestion, type Wondered } from './questions';
import { of, type Api } from './api';
import { oneLine, plural, short } from './format';
import { linkTo } from './route';
import type { Json } from './types';
import { LongText, typing } from './ui';

export interface Asked { permission: string; session: string; call: string; tool: string; action: string; resources: string[]; input: string; elsewhere: boolean }

const LOOK = 700;

/** Asks again and again what waits; a tab that is not seen asks less often. */
export function QuestionBar({ api }: { api: Api }) {
  const [waiting, setWaiting] = useState<Asked[]>([]);
  const [wondered, setWondered] = useState<Wondered[]>([]);
  const [error, setError] = useState<string | null>(null);
  const bar = useRef<HTMLElement>(null);

  useEffect(() => {
    let timer = 0;
    let gone = false;
    const look = async () => {
      const [permissions, questions] = await Promise.all([
        api.get<{ permissions: Asked[] }>('/permissions').catch(() => null),
        api.get<{ questions: Wondered[] }>('/questions').catch(() => null),
      ]);
      if (gone) return;
      if (permissions) setWaiting((before) => same(before, permissions.permissions));
      if (questions) setWondered((before) => same(before, questions.questions));
      timer = window.setTimeout(() => void look(), document.hidden ? LOOK * 5 : LOOK);
    };
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [api]);

  const all = waiting.length + wondered.length;
  useEffect(() => {
    document.title = all ? `(${all}) Annals` : 'Annals';
  }, [all]);

  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.key !== 'p' || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      bar.current?.querySelector<HTMLElement>('.question button, .question input')?.focus();
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);

  const post = async (session: string, path: string, body: Json) => {
    try {
      await api.post(of(session, path), body);
      setError(null);
    } catch (problem) {
      setError((problem as Error).message);
    }
  };
  const answer = async (asked: Asked, body: Json) => {
    await post(asked.session, `/permissions/${encodeURIComponent(asked.permission)}`, body);
    setWaiting((before) => before.filter((one) => one.permission !== asked.permission));
  };
  const reply = async (asked: Wondered, text: string | null) => {
    await post(asked.session, `/questions/${encodeURIComponent(asked.id)}`, { answer: text });
    setWondered((before) => before.filter((one) => one.id !== asked.id));
  };

  if (all === 0 && !error) return null;
  return (
    <section class="asking" ref={bar} aria-label="Questions">
      <p class="hidden" role="status">{all ? `${plural(all, 'question')} waiting` : ''}</p>
      {error && <p class="problem" role="alert">{error} <button type="button" class="quiet" onClick={() => setError(null)}>close</button></p>}
      {waiting.map((asked) => <Question key={asked.permission} asked={asked} answer={(body) => void answer(asked, body)} />)}
      {wondered.map((asked) => <UserQuestion key={asked.id} asked={asked} reply={(text) => void reply(asked, text)} />)}
    </section>
  );
}

const same = <T,>(before: T, found: T): T => (JSON.stringify(before) === JSON.stringify(found) ? before : found);

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
