// Any JSON as aligned rows.
import { visible } from '../format';
import type { Json } from '../types';
import { Empty, LongText } from '../ui';

/** A list of objects is a table, an object is a list of terms, a text is a text. */
export function Data({ value, empty = 'Nothing.' }: { value: Json | undefined; empty?: string }) {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return <Empty>{empty}</Empty>;
  if (typeof value === 'string') return <LongText text={value} />;
  if (typeof value !== 'object') return <code>{String(value)}</code>;
  if (Array.isArray(value)) {
    if (value.every((item) => item !== null && typeof item === 'object' && !Array.isArray(item))) {
      const rows = value as { [key: string]: Json }[];
      const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
      return (
        <table class="data">
          <thead><tr>{columns.map((name) => <th key={name} scope="col">{visible(name)}</th>)}</tr></thead>
          <tbody>{rows.slice(0, 500).map((row, at) => <tr key={at}>{columns.map((name) => <td key={name}>{cell(row[name])}</td>)}</tr>)}</tbody>
        </table>
      );
    }
    return <ol class="plain">{value.slice(0, 500).map((item, at) => <li key={at}>{cell(item)}</li>)}</ol>;
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return <Empty>{empty}</Empty>;
  return (
    <dl class="facts">
      {entries.map(([name, item]) => (
        <div key={name}><dt>{visible(name)}</dt><dd>{item !== null && typeof item === 'object' ? <Data value={item} empty="none" /> : cell(item)}</dd></div>
      ))}
    </dl>
  );
}

function cell(value: Json | undefined) {
  if (value === null || value === undefined) return <span class="dim">–</span>;
  if (typeof value === 'string') return value.length > 200 || value.includes('\n') ? <LongText text={value} /> : <bdi>{visible(value)}</bdi>;
  if (typeof value === 'object') return <code class="wrap">{visible(JSON.stringify(value))}</code>;
  return <span class="num">{String(value)}</span>;
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? '';
}
