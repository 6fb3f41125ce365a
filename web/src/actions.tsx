// What can be changed from here, if the server was started with --write.
import { useRef, useState } from 'preact/hooks';
import { of, type Api } from './api';
import { linkTo } from './route';
import type { Json } from './types';

interface Props { api: Api; id: string; at: number; running: boolean; say: (words: string) => void }

export function Actions({ api, id, at, running, say }: Props) {
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  // The same input keeps its id until it is accepted: sending it twice admits it once.
  const input = useRef<string>(crypto.randomUUID());
  const act = async (words: string, work: () => Promise<void>) => {
    setBusy(true);
    try {
      await work();
      say(words);
    } catch (error) {
      say((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  const send = () => act('Sent', async () => {
    await api.post(of(id, '/inputs'), { id: input.current, text });
    input.current = crypto.randomUUID();
    setText('');
  });
  const fork = () => act('Forked', async () => {
    const made = await api.post<{ session?: string; id?: string } | string>(of(id, '/fork'), { at });
    const name = typeof made === 'string' ? made : made.session ?? made.id;
    if (name) location.hash = linkTo(name);
  });
  const post = (words: string, path: string, body: Json) => act(words, async () => void (await api.post(of(id, path), body)));
  return (
    <form class="actions" onSubmit={(event) => { event.preventDefault(); if (text.trim() && !busy) void send(); }}>
      <textarea rows={1} value={text} aria-label="Prompt" placeholder="Send a prompt to this session (Ctrl+Enter)" onInput={(event) => setText(event.currentTarget.value)} onKeyDown={(event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); event.currentTarget.form!.requestSubmit(); } }} />
      <button type="submit" disabled={busy || !text.trim()}>Send</button>
      {running && <button type="button" disabled={busy} onClick={() => void post('Interrupted', '/interrupt', {})}>Interrupt</button>}
      <button type="button" disabled={busy} title={`A new session with the events before ${at}`} onClick={() => void fork()}>Fork here</button>
      <button type="button" disabled={busy} title="Undo everything from this place on" onClick={() => { if (confirm(`Undo everything from event ${at} on? Files are restored too, where they were captured.`)) void post('Undo staged', '/revert', { to: at }); }}>Revert to here</button>
      <button type="button" disabled={busy} title="Compactions keep the message before this place word for word" onClick={() => void post('Pinned', '/pins', { seq: Math.max(0, at - 1) })}>Pin</button>
    </form>
  );
}
