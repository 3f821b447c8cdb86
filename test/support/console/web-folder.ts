import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { temporaryFolder } from '../service/data-folder.ts'

/**
 * Imitates `vite build`: the script of the page is `src/main.tsx`, whose text is also its name. It fails when the
 * source contains `syntax error`, and waits while there is a file `gate`.
 */
const vite = `
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
const out = process.argv[process.argv.indexOf('--outDir') + 1]
const source = readFileSync('src/main.tsx', 'utf8')
writeFileSync('starting', JSON.stringify({ pid: process.pid, nice: (await import('node:os')).getPriority(), env: process.env }))
// Whoever waits for the file reads it whole.
renameSync('starting', 'started')
while (existsSync('gate')) await new Promise(resolve => setTimeout(resolve, 20))
if (source.includes('syntax error')) {
  console.error('src/main.tsx:1:1 Unexpected token')
  process.exit(1)
}
const script = 'assets/index-' + Buffer.from(source.slice(0, 40)).toString('hex') + '.js'
mkdirSync(join(out, 'assets'), { recursive: true })
mkdirSync(join(out, '.vite'))
writeFileSync(join(out, '.vite', 'manifest.json'), '{}')
writeFileSync(join(out, script), source)
writeFileSync(join(out, 'assets', 'inter-1.woff2'), 'wOF2')
writeFileSync(join(out, 'theme.js'), 'document.documentElement.dataset.theme = "dark"\\n')
writeFileSync(join(out, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
writeFileSync(join(out, 'index.html'), '<!doctype html><meta name="csp-nonce" nonce="%NONCE%"><title>Switchyard</title>'
  + '<script src="/console/theme.js"></script><div id="root"></div>'
  + '<script type="module" nonce="%NONCE%" src="/console/' + script + '"></script>')
`

export interface WebFolder {
  /** The folder `web`. */
  readonly path: string
  write(file: string, text: string): void
  remove(file: string): void
}

/** Creates a stand-in for `web/` with installed packages; removed after the last test of the file. */
export function makeWebFolder(source = 'first();\n'): WebFolder {
  const path = join(temporaryFolder(), 'web')
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(path, file)), { recursive: true })
    writeFileSync(join(path, file), text)
  }
  write('package.json', '{"type":"module"}')
  const locked = JSON.stringify({ packages: { 'node_modules/vite': { version: '1.0.0' } } })
  write('package-lock.json', locked)
  write('src/main.tsx', source)
  write('../src/client/client.ts', 'export const client = 1\n')
  write('node_modules/vite/package.json', '{"type":"module"}')
  write('node_modules/vite/bin/vite.js', vite)
  write('node_modules/.package-lock.json', locked)
  return { path, write, remove: file => rmSync(join(path, file), { recursive: true, force: true }) }
}
