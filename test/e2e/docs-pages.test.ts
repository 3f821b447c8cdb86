import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { anchorsOf, blocksOf, isCommand, type PageBlock, pageShell, shownAs } from '../support/pages/docs-page.ts'
import { lack } from '../support/service/lack.ts'

const root = join(import.meta.dirname, '..', '..')
const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: root }).toSorted()]
const textOf = (page: string): string => readFileSync(join(root, page), 'utf8')

/** Pages whose blocks need providers or processes of their own, and the test that runs them. */
const ranElsewhere: Readonly<Record<string, string>> = {
  'docs/ag-ui.md': 'test/e2e/ag-ui.test.ts',
  'docs/client-library.md': 'test/e2e/client-library.test.ts',
  'docs/clients.md': 'test/clients/page.test.ts',
  'docs/endpoints.md': 'test/e2e/docs-endpoints.test.ts',
  'docs/guides/coding-agent.md': 'test/e2e/docs-guides.test.ts',
  'docs/guides/from-litellm.md': 'test/e2e/litellm-import.test.ts',
  'docs/guides/github-webhook.md': 'test/e2e/docs-guides.test.ts',
  'docs/guides/scaling.md': 'test/e2e/docs-scaling.test.ts',
  'docs/guides/writing-a-harness.md': 'test/e2e/docs-guides.test.ts',
  'docs/hooks.md': 'test/e2e/hooks.test.ts',
}

/** How many command blocks each page may mark as not run. A new mark needs a reason, and a line here. */
const notRun: Readonly<Record<string, number>> = {
  'CONTRIBUTING.md': 1,
  'README.md': 1,
  'docs/a2a.md': 1,
  'docs/backup.md': 1,
  'docs/benchmarks.md': 1,
  'docs/client-library.md': 1,
  'docs/console.md': 4,
  'docs/guides/deploy.md': 5,
  'docs/guides/claude-code-team.md': 1,
  'docs/guides/scaling.md': 1,
  'docs/runtimes.md': 3,
  'docs/secrets.md': 1,
  'docs/sessions.md': 2,
  'docs/troubleshooting.md': 1,
  'docs/tutorial.md': 1,
}

/** What the first block of every page has, so that a page runs on its own and all pages use the same variables. */
const setUp = /^export SWITCHYARD_URL=\S+\nexport SWITCHYARD_KEY=\S+\nURL=\$SWITCHYARD_URL KEY=\$SWITCHYARD_KEY$/m

test('every link of every page leads to a file and a heading that exist', () => {
  for (const page of pages) {
    const file = join(root, page)
    for (const [, target = '', anchor] of textOf(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)) {
      const linked = target === '' ? file : join(dirname(file), target)
      assert.ok(existsSync(linked), `${page}: ${target}`)
      if (anchor) assert.ok(anchorsOf(readFileSync(linked, 'utf8')).includes(anchor), `${page}: ${target}#${anchor}`)
    }
  }
})

test('the documentation index lists every page', () => {
  const index = textOf('docs/index.md')
  const listed = pages.filter(page => page.startsWith('docs/') && !/^docs\/(decisions\/|index\.md)/.test(page))
  for (const page of listed) assert.ok(index.includes(`(${page.slice('docs/'.length)})`), page)
})

test('the README has at most 70 lines', () => {
  assert.ok(textOf('README.md').split('\n').length <= 71)
})

const blocks: readonly PageBlock[] = pages
  .filter(page => !page.startsWith('docs/decisions/'))
  .flatMap(page => blocksOf(page, textOf(page)))
const commands = blocks.filter(isCommand)

test('only the listed command blocks are marked as not run, and each mark states its reason', () => {
  const marked = commands.filter(({ mark }) => mark !== undefined)
  for (const block of marked) assert.match(block.mark ?? '', /^> Not run in CI: \S.{10,}/, shownAs(block))
  const counts = Object.fromEntries([...Map.groupBy(marked, ({ page }) => page)].map(([page, of]) => [page, of.length]))
  assert.deepEqual(counts, notRun)
})

const byPage = Map.groupBy(
  commands.filter(({ mark }) => mark === undefined),
  ({ page }) => page,
)

test('a page that another test runs is named in that test', () => {
  for (const [page, file] of Object.entries(ranElsewhere)) {
    assert.ok(byPage.has(page), page)
    assert.ok(textOf(file).includes(page.split('/').at(-1) ?? ''), `${file} does not name ${page}`)
  }
})

const here = [...byPage].filter(([page]) => !(page in ranElsewhere))

test('every page begins with the same block, which sets URL and KEY', () => {
  const setUps = here.map(([page, [first]]) => [page, setUp.exec(first?.code ?? '')?.[0]] as const)
  const [, common] = setUps[0] ?? []
  assert.ok(common)
  for (const [page, found] of setUps) assert.equal(found, common, page)
})

describe('commands of the pages, from top to bottom', { concurrency: 3 }, async () => {
  const shell = await pageShell()
  for (const [page, run] of here)
    test(`the commands of ${page} run as they stand`, { skip: lack('jq') || lack('curl') }, async () => {
      const { code, output } = await shell.run(run)
      assert.equal(code, 0, output)
    })
})
