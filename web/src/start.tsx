// A new session, if the server was started with --write.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Api } from './api';
import { visible } from './format';
import { linkTo } from './route';
import { newId, typing } from './ui';

export function NewSession({ api, directories }: { api: Api; directories: string[] }) {
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const prompt = useRef<HTMLTextAreaElement>(null);
  const input = useRef<string>(newId());

  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.key !== 'n' || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
  useEffect(() => {
    if (open) prompt.current?.focus();
  }, [open]);

  const start = async (form: HTMLFormElement) => {
    const value = (name: string) => (form.elements.namedItem(name) as HTMLInputElement).value.trim();
    const given: Record<string, string> = {};
    for (const name of ['directory', 'agent', 'model']) if (value(name)) given[name] = value(name);
    setBusy(true);
    try {
      const made = await api.post<{ session: string }>('/sessions', { ...given, prompt: { id: input.current, text: value('prompt') } });
      input.current = newId();
      location.hash = linkTo(made.session);
    } catch (problem) {
      setError((problem as Error).message);
    } finally {
      setBusy(false);
    }
  };
  if (!open) return <button type="button" onClick={() => setOpen(true)} title="Start a session (n)">New session</button>;
  return (
    <form class="start" aria-label="New session" onKeyDown={(event) => { if (event.key === 'Escape') { event.stopPropagation(); setOpen(false); } }} onSubmit={(event) => { event.preventDefault(); if (!busy) void start(event.currentTarget); }}>
      {error && <p class="problem" role="alert">{visible(error)}</p>}
      <label>Prompt<textarea name="prompt" ref={prompt} rows={3} required onKeyDown={(event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); event.currentTarget.form!.requestSubmit(); } }} /></label>
      <label>Directory<input name="directory" list="directories" placeholder="that of the server" /></label>
      <datalist id="directories">{directories.map((name) => <option key={name} value={name} />)}</datalist>
      <label>Agent<input name="agent" placeholder="as configured" /></label>
      <label>Model<input name="model" placeholder="as configured" /></label>
      <p><button type="submit" disabled={busy}>Start (Ctrl+Enter)</button> <button type="button" class="quiet" onClick={() => setOpen(false)}>close</button></p>
    </form>
  );
}
