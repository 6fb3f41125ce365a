// What can be changed from here, if the server was started with --write.
import { useEffect, useRef, useState } from 'preact/hooks';
import { of, type Api } from './api';
import { count, visible } from './format';
import { linkTo } from './route';
import type { Json, Message } from './types';
import { newId, useLoad } from './ui';

interface Props { api: Api; id: string; at: number; head: number; say: (words: string) => void }
interface Run { session: string; hosted: boolean; running: boolean; ended: string | null; error: string | null }
interface Reverted { session: string; state: string; seq: number | null; files: number; files_stay: string | null }
interface Staged { revert: { first_removed: number; files?: Json[] } | null }

const LOOK = 1000;

export function Actions({ api, id, at, head, say }: Props) {
  const [text, setText] = useState('');
  const [queue, setQueue] = useState(false);
  const [busy, setBusy] = useState(false);
  const [run, setRun] = useState<Run | null>(null);
  const [wake, setWake] = useState(0);
  // The same input keeps its id until it is accepted: sending it twice admits it once.
  const input = useRef<string>(newId());
  const staged = useLoad<Staged>(`revert ${id}@${head}`, (signal) => api.get<Staged>(of(id, '/views/session'), undefined, signal), 100).data?.revert ?? null;

  useEffect(() => {
    let timer = 0;
    let gone = false;
    const look = async () => {
      const found = await api.get<Run>(of(id, '/run')).catch(() => null);
      if (gone) return;
      if (found) setRun(found);
      timer = window.setTimeout(() => void look(), found?.running ? LOOK : LOOK * 3);
    };
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [api, id, head, wake]);

  const act = async (work: () => Promise<string>) => {
    setBusy(true);
    try {
      say(await work());
    } catch (error) {
      say((error as Error).message);
    } finally {
      setBusy(false);
      setWake((before) => before + 1);
    }
  };
  // An imported session is continued in a fork.
  const follow = (session: string) => {
    if (session !== id) location.hash = linkTo(session);
  };
  const send = () => act(async () => {
    const taken = await api.post<{ session: string; known: boolean }>(of(id, '/inputs'), { id: input.current, text, delivery: queue ? 'queue' : 'steer' });
    input.current = newId();
    setText('');
    follow(taken.session);
    return taken.session === id ? 'Sent' : 'Sent; continued in a fork';
  });
  const fork = () => act(async () => {
    const made = await api.post<{ session: string }>(of(id, '/fork'), { at });
    location.hash = linkTo(made.session);
    return 'Forked';
  });
  const revert = (body: Json, words: string) => act(async () => {
    const done = await api.post<Reverted>(of(id, '/revert'), body);
    follow(done.session);
    const files = done.files ? `, ${done.files} ${done.files === 1 ? 'file' : 'files'}` : '';
    return `${words}${files}${done.files_stay ? `; files stay: ${done.files_stay}` : ''}`;
  });
  const undo = () => act(async () => {
    const messages = await api.get<Message[]>(of(id, '/views/transcript'));
    const first = messages.find((message) => message.seq >= at);
    if (!first) throw new Error('No message follows this place');
    const done = await api.post<Reverted>(of(id, '/revert'), { to: first.seq });
    follow(done.session);
    return `Undo from event ${first.seq} on is prepared: apply or drop it${done.files_stay ? `; files stay: ${done.files_stay}` : ''}`;
  });
  const pin = () => act(async () => {
    const messages = await api.get<(Message & { pinned?: boolean })[]>(of(id, '/views/history'), { at });
    const last = messages.filter((message) => message.seq < at && (message.type === 'user' || message.type === 'assistant')).pop();
    if (!last) throw new Error('No message precedes this place');
    const done = await api.post<{ session: string; message: number; pinned: boolean }>(of(id, '/pins'), { seq: last.seq, pinned: !last.pinned });
    follow(done.session);
    return done.pinned ? `Message ${done.message} is pinned: compactions keep it word for word` : `Message ${done.message} is no longer pinned`;
  });
  return (
    <form class="actions" onSubmit={(event) => { event.preventDefault(); if (text.trim() && !busy) void send(); }}>
      {staged && (
        <p class="staged" role="status">
          An undo of event {count(staged.first_removed)} and later is prepared; the next prompt applies it.{' '}
          <button type="button" disabled={busy} onClick={() => void revert({ commit: true }, 'Undo applied')}>Apply</button>{' '}
          <button type="button" disabled={busy} onClick={() => void revert({ clear: true }, 'Undo dropped')}>Drop</button>
        </p>
      )}
      {run?.error && !run.running && <p class="problem" role="alert">{visible(run.error)}</p>}
      <textarea rows={1} value={text} aria-label="Prompt" placeholder={run?.running ? 'Say something while the model works (Ctrl+Enter)' : 'Send a prompt to this session (i, Ctrl+Enter)'} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          event.currentTarget.form!.requestSubmit();
        } else if (event.key === 'Escape') event.currentTarget.blur();
      }} />
      {run?.running && <label title="Wait until the turn has ended"><input type="checkbox" checked={queue} onChange={(event) => setQueue(event.currentTarget.checked)} /> queue</label>}
      <button type="submit" disabled={busy || !text.trim()}>Send</button>
      {run?.running && <button type="button" class="refuse" disabled={busy} onClick={() => void act(async () => ((await api.post<{ interrupted: boolean }>(of(id, '/interrupt'), {})).interrupted ? 'Interrupted' : 'Nothing ran'))}>Interrupt</button>}
      <button type="button" disabled={busy} title={`A new session with the events before ${at}`} onClick={() => void fork()}>Fork here</button>
      <button type="button" disabled={busy || at >= head} title="Prepare an undo of everything after this place, with files where they were captured" onClick={() => void undo()}>Undo after here</button>
      <button type="button" disabled={busy} title="Compactions keep the message before this place word for word; once more to end that" onClick={() => void pin()}>Pin</button>
    </form>
  );
}
