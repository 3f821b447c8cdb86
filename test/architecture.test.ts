import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'

const root = dirname(import.meta.dirname)
const cruiser = join(root, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruiser.mjs')

/** A file, what it wrongly imports, and the rule that must report it. */
const violations = [
  ['src/contract/agents.ts', '../server/platform/ids.ts', 'contract-imports-nothing-of-ours'],
  ['src/client/reader.ts', '../server/platform/ids.ts', 'client-sees-only-the-contract'],
  ['src/client/files.ts', 'node:fs', 'client-runs-in-browsers'],
  ['src/contract/paths.ts', 'node:path', 'client-runs-in-browsers'],
  ['src/cli/format.ts', '../server/main.ts', 'cli-reaches-the-server-only-to-start-or-examine-it'],
  ['src/server/platform/clock.ts', '../http/server.ts', 'platform-and-db-are-leaves'],
  ['src/server/platform/rows.ts', '../db/connect.ts', 'platform-knows-no-database'],
  ['src/server/http/auth.ts', '../agents/agents.ts', 'http-knows-no-feature'],
  [
    'src/server/sessions/queue.ts',
    '../gateway/format-adapters.ts',
    'a-feature-sees-another-only-through-its-noun-files',
  ],
  ['src/server/sessions/rules.ts', '../agents/agents.ts', 'a-feature-sees-another-only-as-types'],
  ['src/server/sessions/rows.ts', '../agents/store.ts', 'stores-are-private'],
  ['src/server/agents/start.ts', '../compose.ts', 'only-compose-and-main-know-everything'],
  ['src/server/agents/begin.ts', '../compose/database.ts', 'only-compose-knows-the-parts-of-the-wiring'],
  ['src/server/compose/access.ts', './ledger.ts', 'only-compose-knows-the-parts-of-the-wiring'],
  ['src/server/compose/http.ts', '../compose.ts', 'only-compose-and-main-know-everything'],
  ['src/server/agents/fake.ts', '../../../test/support/service/database.ts', 'no-sources-from-tests'],
  ['src/server/agents/program.ts', 'node:child_process', 'one-place-starts-programs'],
  ['src/server/gateway/formats/gemini/words.ts', '../openai-chat/words.ts', 'no-format-knows-another'],
  ['src/server/agents/lost.ts', './not-there.ts', 'not-resolvable'],
  ['web/src/data/reader.ts', '../../../src/server/platform/ids.ts', 'console-sees-only-the-client-and-the-contract'],
  ['web/src/parts/shape.ts', '../../../src/contract/shapes.ts', 'console-takes-types-of-the-contract'],
  ['web/src/session-log/row.ts', '../parts/row.tsx', 'the-session-log-knows-no-element'],
  ['web/src/session-log/state.ts', 'react', 'the-session-log-knows-no-element'],
  ['web/src/pages/keys/form.ts', '../agents/form.ts', 'no-page-knows-another'],
  ['web/src/parts/table.ts', '../pages/agents/list.ts', 'parts-and-data-know-no-page'],
  ['web/src/data/calls.ts', '../frame/menu.ts', 'parts-and-data-know-no-page'],
] as const

let folder: string
let report: string

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'switchyard-directions-'))
  const put = async (file: string, text: string) => {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), text)
  }
  for (const [from, to] of violations) {
    const target = join(dirname(from), to)
    if (to.startsWith('.') && !to.includes('not-there')) await put(target, 'export const thing = 1\n')
  }
  for (const [from, to] of violations) await put(from, `import * as thing from '${to}'\nexport const used = thing\n`)
  await put('src/server/usage/one.ts', `import * as two from './two.ts'\nexport const one = two\n`)
  await put('src/server/usage/two.ts', `import * as one from './one.ts'\nexport const two = one\n`)
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await put('web/node_modules/react/package.json', '{"name":"react","main":"index.js"}')
  await put('web/node_modules/react/index.js', '')
  await put('web/package.json', '{"dependencies":{"react":"1.0.0"}}')
  await symlink(join(root, 'tsconfig.json'), join(folder, 'tsconfig.json'))
  report = await cruise(folder)
})

after(() => rm(folder, { recursive: true, force: true }))

function cruise(cwd: string): Promise<string> {
  const args = [
    cruiser,
    'src',
    'web/src',
    'test',
    '--config',
    join(root, '.dependency-cruiser.cjs'),
    '--output-type',
    'err-long',
  ]
  return new Promise(resolve => execFile(process.execPath, args, { cwd }, (_error, stdout) => resolve(stdout)))
}

for (const [from, to, rule] of violations) {
  test(`${rule}: ${from} may not import ${to}`, () => {
    assert.ok(report.includes(`${rule}: ${from}`), report)
  })
}

test('no-cycles: two modules that import each other are reported', () => {
  assert.match(report, /no-cycles: src\/server\/usage\/one\.ts/)
})

test('only the connection of the hints notifies: no writing transaction holds the lock of notifications', async () => {
  const files = await readdir(join(root, 'src'), { recursive: true, withFileTypes: true })
  const notifying: string[] = []
  for (const { name, parentPath } of files) {
    if (!/\.(ts|sql)$/.test(name) || name.endsWith('.test.ts')) continue
    const text = await readFile(join(parentPath, name), 'utf8')
    if (/pg_notify|[`'"]\s*notify\s/i.test(text)) notifying.push(name)
  }
  assert.deepEqual(notifying, ['notifications.ts'])
})
