import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { lack } from '../support/lack.ts'
import { startService } from '../support/service.ts'

const root = join(import.meta.dirname, '..', '..')
const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: root }).toSorted()]

/** GitHub's anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')

const anchorsIn = (file: string): readonly string[] =>
  [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))

test('every link of every page leads to a file and a heading that exist', () => {
  for (const page of pages) {
    const file = join(root, page)
    for (const [, target = '', anchor] of readFileSync(file, 'utf8').matchAll(
      /\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g,
    )) {
      const linked = target === '' ? file : join(dirname(file), target)
      assert.ok(existsSync(linked), `${page}: ${target}`)
      if (anchor) assert.ok(anchorsIn(linked).includes(anchor), `${page}: ${target}#${anchor}`)
    }
  }
})

test('the documentation index lists every page', () => {
  const index = readFileSync(join(root, 'docs', 'index.md'), 'utf8')
  const listed = pages.filter(page => page.startsWith('docs/') && !/^docs\/(decisions\/|index\.md|plan\.md)/.test(page))
  for (const page of listed) assert.ok(index.includes(`(${page.slice('docs/'.length)})`), page)
})

/** The commands of a page, from top to bottom. Blocks that are marked `console` need another terminal or an account. */
const commandsOf = (page: string): string =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text).join('\n')

for (const page of ['README.md', 'docs/tutorial.md'])
  test(`the commands of ${page} run from top to bottom as they are typed, but for the address`, {
    skip: lack('jq') || lack('curl'),
  }, async t => {
    const service = await startService()
    const home = await mkdtemp(join(tmpdir(), 'switchyard-page-'))
    t.after(() => rm(home, { recursive: true, force: true, maxRetries: 5 }))
    const typed = commandsOf(page).replaceAll('http://localhost:4000', service.url).replace(' KEY=none', '')
    assert.notEqual(typed, '')
    const env = {
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      HOME: home,
      KEY: service.key,
      SWITCHYARD_URL: service.url,
      SWITCHYARD_KEY: service.key,
      GATEWAY_MASTER_KEY: service.key,
    }
    const child = spawn('bash', ['-euo', 'pipefail', '-c', typed], {
      cwd: root,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const output: string[] = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => output.push(String(chunk)))
    const tooLong = setTimeout(() => process.kill(-Number(child.pid), 'SIGKILL'), 90_000)
    const [code] = await once(child, 'close')
    clearTimeout(tooLong)
    const said = output.join('')
    assert.equal(code, 0, said)
    assert.doesNotMatch(said, /"error"/, said)
  })
