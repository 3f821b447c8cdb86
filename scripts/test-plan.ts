import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const root = join(import.meta.dirname, '..')

/**
 * Processes that run files one after the other, by the folder of the files; those of `src` also run the tests of `web`. A
 * process loads each module once, which is most of what a small test costs.
 */
const sharedProcesses = { src: 6, test: 9 } as const

/** What a test changes for its whole process; such a file runs in its own process. */
const changesItsProcess = /delete process\.env|process\.env\[[^\]]+\] =|process\.(chdir|exitCode|emit)\b|^mock\./m

/** Files with the longest running times, longest first; `npm test` prints what belongs here. They have their own process. */
const slowest: readonly string[] = [
  'test/console/pages.test.ts',
  'test/console/page-states.test.ts',
  'test/console/viewers.test.ts',
  'test/e2e/command-line.test.ts',
  'test/e2e/acp-memories.test.ts',
  'test/e2e/kill-switches.test.ts',
  'test/console/hostile-texts.test.ts',
  'test/console/session.test.ts',
  'src/server/sandboxes/drivers.test.ts',
  'test/console/status-words.test.ts',
  'test/e2e/backup.test.ts',
  'src/server/runtimes/acp/runtime.test.ts',
  'src/server/db/embedded-postgres.test.ts',
  'test/e2e/docs-pages.test.ts',
  'test/e2e/docs-guides.test.ts',
  'test/e2e/workers.test.ts',
  'test/e2e/opencode-runtime.test.ts',
  'test/console/agents.test.ts',
  'test/console/triggers.test.ts',
  'test/conformance/runtimes/runtimes.test.ts',
  'test/clients/clients.test.ts',
  'test/clients/page.test.ts',
  'test/e2e/client-library.test.ts',
  'test/e2e/acp-programs.test.ts',
  'test/e2e/acp-approvals.test.ts',
  'test/faults/left-calls.test.ts',
  'test/faults/webhooks.test.ts',
  'test/e2e/first-contact.test.ts',
]

/** Files of the console share one browser each, which ends with their process. */
const hasBrowser = (file: string): boolean => file.startsWith(join(root, 'test', 'console', '/'))

/**
 * Returns the entry files of the test processes, in the order in which they start. Small files share processes through
 * modules written to `folder`; every other file has its own process.
 */
export function testPlan(files: readonly string[], folder: string): string[] {
  const rank = (file: string): number => {
    const at = slowest.findIndex(name => file.endsWith(name))
    return at === -1 ? slowest.length : at
  }
  const canShare = (file: string): boolean =>
    rank(file) === slowest.length && !hasBrowser(file) && !changesItsProcess.test(textOf(file))
  const sharedOf = (...folders: string[]) =>
    files.filter(file => folders.some(name => file.startsWith(join(root, name, '/'))) && canShare(file))
  const shared = { src: sharedOf('src', 'web'), test: sharedOf('test') }
  const own = files.filter(file => !shared.src.includes(file) && !shared.test.includes(file))
  const inOrder = own.toSorted((a, b) => rank(a) - rank(b) || sizeOf(b) - sizeOf(a))
  return [
    ...sharedModules(shared.src, { folder, name: 'unit-tests', processes: sharedProcesses.src }),
    ...inOrder.slice(0, slowest.length),
    ...sharedModules(shared.test, { folder, name: 'service-tests', processes: sharedProcesses.test }),
    ...inOrder.slice(slowest.length),
  ]
}

interface Sharing {
  readonly folder: string
  readonly name: string
  readonly processes: number
}

/** Writes one module for each shared process. Neighbours stay together: they use the same modules. */
function sharedModules(files: readonly string[], { folder, name, processes }: Sharing): string[] {
  const share = files.reduce((sum, file) => sum + sizeOf(file), 0) / processes
  let filled = 0
  const groups = Map.groupBy(files, file => {
    const group = Math.floor(filled / share)
    filled += sizeOf(file)
    return group
  })
  const runner = pathToFileURL(join(import.meta.dirname, 'test-in-turn.ts')).href
  return [...groups.values()].map((group, at) => {
    const module = join(folder, `${name}-${at + 1}.test.mjs`)
    writeFileSync(module, `import { runInTurn } from '${runner}'\nawait runInTurn(${JSON.stringify(group, null, 2)})\n`)
    return module
  })
}

const textOf = (file: string): string => readFileSync(file, 'utf8')
const sizeOf = (file: string): number => statSync(file).size
