// The files that events name, the newest first: pages on demand, since a long session names many.
import { useState } from 'preact/hooks';
import { of } from '../api';
import { count, visible } from '../format';
import { Empty, Panel, useLoad } from '../ui';
import { PAUSE, type TabProps } from '.';

interface FileRow { event: number; action: string; path: string }
interface FilePage { files: FileRow[]; next: number | null }

const PAGE = 200;

export function Files({ api, id, at, go }: TabProps) {
  const loaded = useLoad(`${id}@${at}`, (signal) => api.get<FilePage>(of(id, '/files'), { at, limit: PAGE }, signal), PAUSE);
  return (
    <Panel loaded={loaded}>
      {(page) => page.files.length === 0 && page.next === null ? <Empty>No file was captured or touched up to here.</Empty> : <List key={`${id}@${at}`} api={api} id={id} first={page} go={go} />}
    </Panel>
  );
}

function List({ api, id, first, go }: { api: TabProps['api']; id: string; first: FilePage; go: (seq: number) => void }) {
  const [more, setMore] = useState<FilePage>({ files: [], next: first.next });
  const [problem, setProblem] = useState('');
  const load = () => {
    api.get<FilePage>(of(id, '/files'), { at: more.next, limit: PAGE }).then(
      (page) => setMore((before) => ({ files: [...before.files, ...page.files], next: page.next })),
      (error: Error) => setProblem(error.message),
    );
  };
  const rows = [...first.files, ...more.files];
  return (
    <>
      <table class="data">
        <thead><tr><th scope="col" class="n">Event</th><th scope="col">Action</th><th scope="col">File</th></tr></thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}><td class="n"><button type="button" class="quiet" title={`Go to event ${row.event}`} onClick={() => go(row.event + 1)}>{count(row.event)}</button></td><td>{visible(row.action)}</td><td><bdi>{visible(row.path)}</bdi></td></tr>
          ))}
        </tbody>
      </table>
      {more.next !== null && <p><button type="button" class="quiet" onClick={load}>files before event {count(more.next)}</button></p>}
      {problem && <p class="problem" role="alert">{visible(problem)}</p>}
    </>
  );
}
