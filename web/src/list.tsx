// The sessions of the store: filter, spending, and a text search with jump.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Api } from './api';
import { ago, brief, count, dollars, oneLine, plural, short } from './format';
import { linkTo } from './route';
import { NewSession } from './start';
import type { Hit, SessionPage, SessionRow } from './types';
import { Empty, Panel, typing, useLoad, Virtual } from './ui';

const ROW = 46;
const PAGE = 200;

export function SessionList({ api, write, query, search }: { api: Api; write: boolean; query: string; search: (query: string) => void }) {
  const [rows, setRows] = useState<SessionRow[]>([]);
  const [total, setTotal] = useState<number | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [agent, setAgent] = useState('');
  const [chosen, setChosen] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const loading = useRef(false);
  // Only typing is waited for.
  const first = useRef(true);
  const texts = query.startsWith('/') ? query.slice(1).trim() : '';

  useLayoutEffect(() => {
    if (texts) return;
    const ending = new AbortController();
    const timer = setTimeout(() => {
      api.get<SessionPage>('/sessions', { query, agent, limit: PAGE }, ending.signal).then(
        (page) => {
          setRows(page.sessions);
          setTotal(page.total);
          setNext(page.next);
          setChosen(0);
          setError(null);
        },
        (problem: Error) => ending.signal.aborted || setError(problem.message),
      );
    }, first.current ? 0 : 120);
    first.current = false;
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [query, agent, texts]);

  const more = (last: number) => {
    if (!next || loading.current || last < rows.length - 20) return;
    loading.current = true;
    api
      .get<SessionPage>('/sessions', { query, agent, limit: PAGE, cursor: next })
      .then((page) => {
        setRows((before) => [...before, ...page.sessions]);
        setNext(page.next);
      })
      .catch((problem: Error) => setError(problem.message))
      .finally(() => (loading.current = false));
  };

  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      if (event.key === '/' && !typing(event)) {
        event.preventDefault();
        field.current!.focus();
      } else if (event.target instanceof Element && event.target.closest('.start, .asking')) {
        return;
      } else if (event.key === 'ArrowDown' || (event.key === 'j' && !typing(event))) {
        event.preventDefault();
        setChosen((at) => Math.min(rows.length - 1, at + 1));
      } else if (event.key === 'ArrowUp' || (event.key === 'k' && !typing(event))) {
        event.preventDefault();
        setChosen((at) => Math.max(0, at - 1));
      } else if (event.key === 'Enter' && !(event.target instanceof HTMLAnchorElement) && !(event.target instanceof HTMLButtonElement)) {
        const row = rows[chosen];
        if (row && !texts) location.hash = linkTo(row.id);
      } else if (event.key === 'Escape' && typing(event)) field.current!.blur();
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, [rows, chosen, texts]);

  const spent = rows.reduce((sum, row) => sum + (row.cost ?? 0) + row.estimated, 0);
  const agents = [...new Set(rows.map((row) => row.origin ?? 'annals'))].sort();
  const now = Date.now();
  return (
    <main class="list">
      <h1 class="hidden">Sessions</h1>
      <div class="filter">
        <input ref={field} type="search" value={query} placeholder="Filter by title, directory, model; /text searches in all texts" aria-label="Filter sessions" onInput={(event) => search(event.currentTarget.value)} autofocus />
        <select aria-label="Agent" value={agent} onChange={(event) => setAgent(event.currentTarget.value)}>
          <option value="">all agents</option>
          {[...new Set(['claude-code', 'codex', 'opencode', ...agents])].map((name) => <option key={name} value={name}>{name}</option>)}
        </select>
        <output aria-live="polite">
          {texts ? '' : total === null ? '' : `${plural(total, 'session')}${spent ? ` · ${dollars(spent)}${next ? ' so far' : ''}` : ''}`}
        </output>
        {write && <NewSession api={api} directories={[...new Set(rows.map((row) => row.directory))].slice(0, 50)} />}
      </div>
      {error && <p class="problem" role="alert">{error}</p>}
      {texts ? <Hits api={api} text={texts} /> : (
        <>
          <div class="srow head" aria-hidden="true">
            <span>Session</span><span>Directory</span><span>Model</span><span class="n">Turns</span><span class="n">Events</span><span class="n">Cost</span><span class="n">Updated</span>
          </div>
          {total === 0 ? <Empty>No session matches. Clear the filter, or run annals import.</Empty> : (
            <Virtual
              count={rows.length}
              height={() => ROW}
              version={rows}
              label="Sessions"
              focus={chosen}
              seen={(_, last) => more(last)}
              row={(at) => <Row row={rows[at]!} now={now} chosen={at === chosen} />}
            />
          )}
        </>
      )}
    </main>
  );
}

function Row({ row, now, chosen }: { row: SessionRow; now: number; chosen: boolean }) {
  const cost = (row.cost ?? 0) + row.estimated;
  return (
    <a class={chosen ? 'srow chosen' : 'srow'} href={linkTo(row.id)}>
      <span class="title"><bdi>{oneLine(row.title || 'untitled')}</bdi><small>{row.origin ?? 'annals'} · {oneLine(row.agent, 40)} · {short(row.id)}{row.parent ? ' · child' : ''}{row.fork ? ' · fork' : ''}</small></span>
      <span class="dim path"><bdi>{oneLine(row.directory)}</bdi></span>
      <span class="dim"><bdi>{oneLine(row.model ?? '')}</bdi></span>
      <span class="n">{count(row.turns)}</span>
      <span class="n">{brief(row.next)}</span>
      <span class="n" title={row.estimated ? 'with the prices of the catalog' : undefined}>{row.cost === null && !row.estimated ? '–' : `${row.estimated ? '~' : ''}${dollars(cost)}`}</span>
      <span class="n dim" title={new Date(row.updated).toISOString()}>{ago(row.updated, now)}</span>
    </a>
  );
}

function Hits({ api, text }: { api: Api; text: string }) {
  const loaded = useLoad(text, (signal) => api.get<Hit[] | { hits: Hit[] }>('/search', { q: text, limit: 200 }, signal), 200);
  return (
    <Panel loaded={loaded}>
      {(data) => {
        const hits = Array.isArray(data) ? data : data.hits;
        return hits.length === 0 ? <Empty>No text matches.</Empty> : (
          <ol class="hits">
            {hits.map((hit) => (
              <li key={`${hit.session}${hit.seq}${hit.line}`}>
                <a href={linkTo(hit.session, hit.seq + 1, 'events')}>
                  <span class="dim"><bdi>{oneLine(hit.title, 60)}</bdi> · event {hit.seq} · {hit.by}</span>
                  <span class="line"><bdi>{oneLine(hit.line)}</bdi></span>
                </a>
              </li>
            ))}
          </ol>
        );
      }}
    </Panel>
  );
}
