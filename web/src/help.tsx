// The keys.
import { useEffect, useRef } from 'preact/hooks';

const KEYS: [string, string][] = [
  ['← →', 'the place before, after (shift: ten)'],
  ['[ ]', 'the turn before, after'],
  ['e E', 'the next error, the one before'],
  ['g', 'go to an event, or turn:N'],
  ['Home End', 'the first, the last place'],
  ['m', 'mark this place; Changes compares with it'],
  ['1 … 0', 'the views, in order'],
  ['/', 'find a text in what the model saw'],
  ['j k', 'the next line of the view, the one before; Enter opens it'],
  ['c', 'copy a link to exactly this'],
  ['n i p', 'with --write: a new session, a prompt, the first question'],
  ['/', 'in the list: filter the sessions; /text searches in all texts'],
  ['↑ ↓ Enter', 'choose and open a session'],
  ['Esc', 'back to the list'],
];

export function Help({ close }: { close: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), []);
  return (
    <div class="help" ref={box} tabIndex={-1} role="dialog" aria-label="Keys">
      <dl>{KEYS.map(([key, words]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{words}</dd></div>)}</dl>
      <button type="button" class="quiet" onClick={close}>close</button>
    </div>
  );
}
