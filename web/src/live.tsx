// What a model is still sending: pieces of answers that are not in the log yet.
import { useEffect, useRef } from 'preact/hooks';
import { oneLine, visible } from './format';

export interface LiveUpdate { type: 'delta' | 'settled'; session: string; request: string; of: string; place: number | string | null; text?: string }

const SHOWN = 4000;
const NAMES: Record<string, string> = { text: 'answering', reasoning: 'thinking', 'tool-input': 'calling a tool', summary: 'summarizing' };

/** The texts by fragment, oldest first. A settled one stays until its event is here. */
export type LiveTexts = ReadonlyMap<string, { of: string; text: string }>;

export function heard(texts: LiveTexts, update: LiveUpdate): LiveTexts {
  const key = `${update.request} ${update.of} ${update.place}`;
  const next = new Map(texts);
  if (update.type === 'settled') next.delete(key);
  else next.set(key, { of: update.of, text: (next.get(key)?.text ?? '') + (update.text ?? '') });
  return next;
}

export function Live({ texts }: { texts: LiveTexts }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [texts]);
  if (texts.size === 0) return null;
  return (
    <div class="onitsway" ref={box} role="region" aria-label="Not in the log yet" tabIndex={0}>
      {[...texts].map(([key, { of, text }]) => (
        <p key={key} class={of}><span class="dim">{NAMES[of] ?? oneLine(of, 20)}</span> <bdi>{visible(text.slice(-SHOWN))}</bdi></p>
      ))}
    </div>
  );
}
