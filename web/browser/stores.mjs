// The stores of the tests, made with the command: imported fixtures with the hostile session, and a scenario with recorded requests.
import { fileURLToPath } from 'node:url';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostile } from './transcripts.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
export const annals = process.env.ANNALS ?? join(root, 'target/debug/annals');

/** A folder for stores, and variables in which nothing of the machine's user takes part. */
export function makeFolder() {
  const path = mkdtempSync(join(tmpdir(), 'annals-stores-'));
  const env = { PATH: process.env.PATH, HOME: path, TZ: 'UTC', ANNALS_IMPORT_SECRET: 'ab'.repeat(32) };
  return { path, env, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export function makeStores() {
  const { path: folder, env, remove } = makeFolder();
  const run = (...args) => execFileSync(annals, args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 30 });
  mkdirSync(join(folder, 'made'));
  writeFileSync(join(folder, 'made/hostile.jsonl'), hostile());
  const imported = join(folder, 'imported');
  run('import', join(root, 'fixtures/claude-code'), join(root, 'fixtures/codex'), join(root, 'fixtures/opencode/opencode.db'), join(folder, 'made'), '--store', imported);
  const scenario = (name) => {
    const store = join(folder, name);
    run('scenario', 'run', join(root, `fixtures/scenarios/${name}.json`), '--store', store);
    return store;
  };
  return { imported, instructions: scenario('instruction-files-are-one-source'), permissions: scenario('permission-replies'), env, remove };
}
