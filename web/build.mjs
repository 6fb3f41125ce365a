// Bundles src/ into dist/{index.html,app.js,app.css}, which are committed: `cargo build` needs no Node.
// `node build.mjs --check` builds into memory and compares the bytes with dist/ instead.
import { fileURLToPath } from 'node:url';
import { readFile, writeFile, mkdir } from 'node:fs/promises';
import { build } from 'esbuild';

const root = new URL('.', import.meta.url);
const LIMIT = 150_000;
const { outputFiles } = await build({
  absWorkingDir: fileURLToPath(root),
  entryPoints: { app: 'src/main.tsx' },
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2022'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  charset: 'ascii',
  legalComments: 'none',
  outdir: 'dist',
  write: false,
});
const files = new Map(outputFiles.map((file) => [file.path.split('/').pop(), Buffer.from(file.contents)]));
files.set('index.html', await readFile(new URL('src/index.html', root)));
const script = files.get('app.js').length;
if (script > LIMIT) fail(`app.js has ${script} bytes; the limit is ${LIMIT}`);
if (process.argv.includes('--check')) {
  for (const [name, bytes] of files) {
    const committed = await readFile(new URL(`dist/${name}`, root)).catch(() => null);
    if (!committed?.equals(bytes)) fail(`web/dist/${name} differs from what web/src builds: npm run build in web/, and commit`);
  }
  console.log(`web/dist is what web/src builds (app.js: ${script} bytes)`);
} else {
  await mkdir(new URL('dist/', root), { recursive: true });
  for (const [name, bytes] of files) await writeFile(new URL(`dist/${name}`, root), bytes);
  console.log([...files].map(([name, bytes]) => `${name} ${bytes.length}`).join(', '));
}

function fail(why) {
  console.error(why);
  process.exit(1);
}
