// The page of `annals serve` and of reports: the list of sessions, and one session at any place.
import { render } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { Api, keepToken, Problem, takeToken } from './api';
import { Help } from './help';
import { SessionList } from './list';
import { QuestionBar } from './permissions';
import { isReport, openReport, type Report } from './report';
import { format, linkTo, parse, type Route } from './route';
import { SessionPage } from './session';
import type { Info } from './types';
import { typing } from './ui';
import './style.css';

const THEME = 'annals-theme';

function theme(): string {
  return localStorage.getItem(THEME) ?? 'auto';
}

function apply(name: string): void {
  document.documentElement.dataset.theme = name;
  dispatchEvent(new Event('annals-theme'));
}

function App() {
  const [token, setToken] = useState(takeToken);
  const [info, setInfo] = useState<Info | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [route, setRoute] = useState<Route>(() => parse(location.hash));
  const [help, setHelp] = useState(false);
  const [colours, setColours] = useState(theme);
  const [report, setReport] = useState<Report | null>(null);
  // What is shown is asked for at once, beside what the server says of itself.
  const api = useMemo(() => (isReport() ? report?.api ?? null : token ? new Api(token) : null), [token, report]);

  useEffect(() => {
    const changed = () => {
      if (/[#&]token=/.test(location.hash)) setToken(takeToken());
      setRoute(parse(location.hash));
    };
    const key = (event: KeyboardEvent) => {
      if (typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === '?') setHelp((shown) => !shown);
      else if (event.key === 'Escape') setHelp((shown) => {
        if (!shown && !isReport() && parse(location.hash).page === 'session') location.hash = '#/';
        return false;
      });
    };
    addEventListener('hashchange', changed);
    addEventListener('keydown', key);
    return () => {
      removeEventListener('hashchange', changed);
      removeEventListener('keydown', key);
    };
  }, []);

  useEffect(() => {
    if (!isReport()) return;
    openReport().then(
      (found) => {
        setInfo(found.info);
        setReport(found);
      },
      (error: Error) => setProblem(`The data of this report cannot be read: ${error.message}`),
    );
  }, []);

  useLayoutEffect(() => {
    if (!api || isReport()) return;
    api.get<Info>('/info').then(
      (found) => {
        setInfo(found);
        setProblem(null);
      },
      (error: Error) => {
        if (error instanceof Problem && error.status === 401) {
          keepToken(null);
          setToken(null);
          setProblem('The server did not accept this token. It makes a new one each time it starts.');
        } else setProblem(error.message);
      },
    );
  }, [api]);

  const search = useCallback((query: string) => {
    history.replaceState(null, '', format({ page: 'sessions', query }));
    setRoute({ page: 'sessions', query });
  }, []);
  const shown = useMemo(() => (report && route.page === 'sessions' ? parse(linkTo(report.session)) : route), [report, route]);
  const turn = () => {
    const next = { auto: 'light', light: 'dark', dark: 'auto' }[colours] ?? 'auto';
    localStorage.setItem(THEME, next);
    setColours(next);
    apply(next);
  };

  return (
    <>
      <header class="top">
        <a href="#/" class="name">Annals</a>
        {info && <span class="dim store"><bdi>{info.store}</bdi></span>}
        <span class="grow" />
        {info?.write && <span class="badge">can write</span>}
        <button type="button" class="quiet" onClick={turn} title="Colours">{colours}</button>
        <button type="button" class="quiet" onClick={() => setHelp(!help)} aria-expanded={help}>keys <kbd>?</kbd></button>
      </header>
      {api && info?.write && <QuestionBar api={api} />}
      {help && <Help close={() => setHelp(false)} />}
      {!api || (problem && !info) ? (
        !token && !isReport() ? <Enter problem={problem} take={(given) => { keepToken(given); setProblem(null); setToken(given); }} /> : <main class="page">{problem ? <p class="problem" role="alert">{problem}</p> : <p class="empty">Loading…</p>}</main>
      ) : shown.page === 'sessions' ? (
        <SessionList api={api} write={info?.write ?? false} query={shown.query} search={search} />
      ) : (
        <SessionPage key={shown.place.session} api={api} write={info?.write ?? false} route={shown} />
      )}
    </>
  );
}

function Enter({ problem, take }: { problem: string | null; take: (token: string) => void }) {
  return (
    <main class="page">
      <h1>Annals</h1>
      {problem && <p class="problem" role="alert">{problem}</p>}
      <p>Open the link that <code>annals serve</code> printed, or paste its token.</p>
      <form onSubmit={(event) => {
        event.preventDefault();
        const given = (event.currentTarget.elements.namedItem('token') as HTMLInputElement).value.trim().replace(/^.*token=/, '');
        if (given) take(given);
      }}>
        <input name="token" type="password" autocomplete="off" aria-label="Token" autofocus /> <button type="submit">Open</button>
      </form>
    </main>
  );
}

apply(theme());
render(<App />, document.getElementById('app')!);
