// Small components that every part uses. All text of a log passes `visible` and is a text node.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Problem } from './api';
import { visible } from './format';

const FIRST = 20_000;

/** A text of a log: its start, and more on demand, so that 50 MB never enter the document at once. */
export function LongText({ text, className = '' }: { text: string; className?: string }) {
  const [shown, setShown] = useState(FIRST);
  useEffect(() => setShown(FIRST), [text]);
  const rest = text.length - shown;
  const safe = useMemo(() => visible(text.slice(0, shown)), [text, shown]);
  return (
    <>
      <pre class={`text ${className}`} dir="ltr">{safe}</pre>
      {rest > 0 && (
        <button type="button" class="quiet more" onClick={() => setShown(shown + Math.max(FIRST, Math.min(shown, 200_000)))}>
          {rest.toLocaleString('en')} more characters
        </button>
      )}
    </>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export interface Loaded<T> { data: T | null; error: Error | null; loading: boolean }

/** Within so many milliseconds one change follows another: a key is held, or somebody types. */
const RUSH = 120;

/**
 * Loads anew whenever the key changes: at once, or while one change follows another only after `wait` milliseconds without one. What was
 * loaded before stays until then, so that scrubbing does not flicker.
 */
export function useLoad<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>, wait = 0): Loaded<T> {
  const [state, setState] = useState<Loaded<T> & { key: string | null }>({ data: null, error: null, loading: true, key: null });
  const changed = useRef(-Infinity);
  // Before the frame is drawn, not after it.
  useLayoutEffect(() => {
    if (key === null) return;
    const ending = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    const start = () => {
      load(ending.signal).then(
        (data) => !ending.signal.aborted && setState({ data, error: null, loading: false, key }),
        (error: Error) => !ending.signal.aborted && setState({ data: null, error, loading: false, key }),
      );
    };
    const now = performance.now();
    const rushes = now - changed.current < Math.max(RUSH, wait);
    changed.current = now;
    const timer = rushes ? setTimeout(start, wait) : void start();
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [key]);
  return state;
}

/** What a panel shows while, before and instead of its data. */
export function Panel<T>({ loaded, children }: { loaded: Loaded<T>; children: (data: T) => ComponentChildren }) {
  // There is nothing of this yet: no fault.
  if (loaded.error instanceof Problem && loaded.error.status === 404) return <p class="empty">{visible(loaded.error.message)}</p>;
  if (loaded.error) return <p class="problem" role="alert">{visible(loaded.error.message)}</p>;
  if (loaded.data === null) return <p class="empty" aria-live="polite">Loading…</p>;
  return <div class={loaded.loading ? 'stale' : undefined} aria-busy={loaded.loading}>{children(loaded.data)}</div>;
}

interface VirtualProps {
  count: number;
  height: (index: number) => number;
  /** Changes when heights do. */
  version: unknown;
  row: (index: number) => ComponentChildren;
  label: string;
  /** Scrolled into view when it changes. */
  focus: number | null;
  seen?: (first: number, last: number) => void;
  className?: string;
}

/** A list that draws only the rows in view. */
export function Virtual({ count, height, version, row, label, focus, seen, className = '' }: VirtualProps) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, size: 800 });
  const tops = useMemo(() => {
    const sums = new Float64Array(count + 1);
    for (let at = 0; at < count; at++) sums[at + 1] = sums[at]! + height(at);
    return sums;
  }, [count, version]);
  const find = (y: number) => {
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (tops[middle + 1]! <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const first = Math.max(0, find(view.top - 200));
  const last = Math.min(count, find(view.top + view.size + 200) + 1);
  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => setView({ top: element.scrollTop, size: element.clientHeight });
    const watching = new ResizeObserver(measure);
    watching.observe(element);
    measure();
    return () => watching.disconnect();
  }, []);
  useEffect(() => {
    // Else it is about to be drawn somewhere else.
    if (Math.abs(box.current!.scrollTop - view.top) < 1) seen?.(first, last);
  }, [first, last, count, view.top]);
  useLayoutEffect(() => {
    const element = box.current!;
    if (focus === null || focus < 0 || focus >= count) return;
    const top = tops[focus]!;
    const bottom = Math.min(tops[focus + 1]!, top + element.clientHeight - 60);
    if (top < element.scrollTop + 4) element.scrollTop = Math.max(0, top - 40);
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight + 40;
  }, [focus, tops]);
  const rows = [];
  for (let at = first; at < last; at++) {
    rows.push(
      <div class="vrow" role="listitem" key={at} aria-setsize={count} aria-posinset={at + 1} style={{ transform: `translateY(${tops[at]}px)`, height: `${tops[at + 1]! - tops[at]!}px` }}>
        {row(at)}
      </div>,
    );
  }
  return (
    <div class={`virtual ${className}`} ref={box} role="region" aria-label={label} tabIndex={0} onScroll={(event) => setView({ top: event.currentTarget.scrollTop, size: event.currentTarget.clientHeight })}>
      <div class="vspace" role="list" style={{ height: `${tops[count]}px` }}>{rows}</div>
    </div>
  );
}

/** A name that nothing else has; `crypto.randomUUID` is missing where a page is not of this machine. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Whether a key press belongs to a field that is typed into. */
export function typing(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return !!target && (target.tagName === 'INPUT' || target.tagName === 'TEXTAREA' || target.tagName === 'SELECT' || target.isContentEditable);
}
