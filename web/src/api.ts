// The HTTP API of `annals serve`.
import { SseParser, type SseMessage } from './sse';
import type { Json } from './types';

export class Problem extends Error {
  constructor(readonly status: number, readonly title: string, readonly detail: string) {
    super(detail || title);
  }
}

export type Query = Record<string, string | number | null | undefined>;

export function withQuery(path: string, query: Query = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return pairs.length ? `${path}?${pairs.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join('&')}` : path;
}

/** The most characters of a text that the page asks for: what is longer is downloaded with its event. And of a line in a list. */
export const CLIP = 100_000;
export const LINE = 400;

export class Api {
  /** Answers that were asked for before the part that shows them was there, each for the next one who asks. */
  private readonly early = new Map<string, Promise<unknown>>();

  constructor(readonly token: string) {}

  async get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
    const asked = withQuery(path, query);
    const early = this.early.get(asked) as Promise<T> | undefined;
    if (!early) return (await this.ask('GET', asked, signal)).json() as Promise<T>;
    this.early.delete(asked);
    return early;
  }

  /** Asks already. Gives a function that says under which query somebody will ask for it, if it is another one. */
  ahead(path: string, query: Query): (known: Query) => void {
    const answer = this.get<unknown>(path, query);
    answer.catch(() => {});
    this.early.set(withQuery(path, query), answer);
    return (known) => {
      if (this.early.delete(withQuery(path, query))) this.early.set(withQuery(path, known), answer);
    };
  }

  async bytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
    return (await this.ask('GET', path, signal)).arrayBuffer();
  }

  async post<T>(path: string, body: Json): Promise<T> {
    const answer = await this.ask('POST', path, undefined, JSON.stringify(body), { 'Content-Type': 'application/json' });
    const text = await answer.text();
    return (text ? JSON.parse(text) : null) as T;
  }

  /** Follows a stream until the signal ends it; connects again after an interruption, from the last message on. */
  async follow(path: string, last: string, signal: AbortSignal, message: (m: SseMessage) => void, state: (connected: boolean) => void): Promise<void> {
    for (let wait = 500; !signal.aborted; wait = Math.min(wait * 2, 10_000)) {
      try {
        const answer = await this.ask('GET', path, signal, undefined, { Accept: 'text/event-stream', 'Last-Event-ID': last });
        state(true);
        wait = 500;
        const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
        const parser = new SseParser();
        for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
          for (const found of parser.push(chunk.value)) {
            last = found.id ?? last;
            message(found);
          }
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Problem && error.status < 500 && error.status !== 429) {
          state(false);
          return;
        }
      }
      state(false);
      await new Promise((done) => setTimeout(done, wait));
    }
  }

  private async ask(method: string, path: string, signal?: AbortSignal, body?: string, headers: Record<string, string> = {}): Promise<Response> {
    let answer: Response;
    try {
      answer = await fetch(`/v1${path}`, { method, body, signal, cache: 'no-store', headers: { ...headers, Authorization: `Bearer ${this.token}` } });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Problem(0, 'no connection', 'The server does not answer. Is `annals serve` still running?');
    }
    if (answer.ok) return answer;
    const problem = (await answer.json().catch(() => ({}))) as { title?: string; detail?: string };
    throw new Problem(answer.status, problem.title ?? `status ${answer.status}`, problem.detail ?? '');
  }
}

export const of = (session: string, rest = ''): string => `/sessions/${encodeURIComponent(session)}${rest}`;

// The token of this page: from `#token=…` of the printed link, then of this tab.
const KEY = 'annals-token';

export function takeToken(): string | null {
  const found = /[#&]token=([^&]+)/.exec(location.hash);
  if (found) {
    const token = decodeURIComponent(found[1]!);
    sessionStorage.setItem(KEY, token);
    const rest = location.hash.replace(/#?&?token=[^&]+&?/, '');
    history.replaceState(null, '', rest ? `#${rest}` : '#/');
    return token;
  }
  return sessionStorage.getItem(KEY);
}

export function keepToken(token: string | null): void {
  if (token) sessionStorage.setItem(KEY, token);
  else sessionStorage.removeItem(KEY);
}
