import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const root = join(import.meta.dirname, '..')

/** Processes that run the unit tests. A process loads each module once, which is most of what a unit test costs. */
const sharedProcesses = 6

/** What a test changes for its whole process; such a file runs in its own process. */
const changesItsProcess = /delete process\.env|process\.env\[[^\]]+\] =|process\.(chdir|exitCode|emit)\b|^mock\./m

/** Files with the longest running times, longest first; `npm test` prints what belongs here. */
const slowest: readonly string[] = [
  'test/e2e/client-library.test.ts',
  'test/e2e/kill-switches.test.ts',
  'test/e2e/acp-memories.test.ts',
  'test/e2e/acp-programs.test.ts',
  'test/e2e/opencode-sdk.test.ts',
  'test/e2e/opencode-runtime.test.ts',
  'test/e2e/acp-approvals.test.ts',
  'test/conformance/runtimes/runtimes.test.ts',
  'test/e2e/opencode.test.ts',
  'test/faults/left-calls.test.ts',
  'test/e2e/workers.test.ts',
  'test/faults/webhooks.test.ts',
  'test/clients/page.test.ts',
  'test/e2e/docs-pages.test.ts',
]

/**
 * Returns the entry files of the test processes, in the order in which they start. Unit tests of `src` share processes
 * through modules written to `folder`; every other file has its own process.
 */
export function testPlan(files: readonly string[], folder: string): string[] {
  const shared = files.filter(file => file.startsWith(join(root, 'src')) && !changesItsProcess.test(textOf(file)))
  const own = files.filter(file => !shared.includes(file))
  const rank = (file: string): number => {
    const at = slowest.findIndex(name => file.endsWith(name))
    return at === -1 ? slowest.length : at
  }
  const inOrder = own.toSorted((a, b) => rank(a) - rank(b) || sizeOf(b) - sizeOf(a))
  return [...sharedModules(shared, folder), ...inOrder]
}

/** Writes one module for each shared process. Neighbours stay together: they use the same modules. */
function sharedModules(files: readonly string[], folder: string): string[] {
  const share = files.reduce((sum, file) => sum + sizeOf(file), 0) / sharedProcesses
  let filled = 0
  const groups = Map.groupBy(files, file => {
    const group = Math.floor(filled / share)
    filled += sizeOf(file)
    return group
  })
  const runner = pathToFileURL(join(import.meta.dirname, 'test-in-turn.ts')).href
  return [...groups.values()].map((group, at) => {
    const module = join(folder, `unit-tests-${at + 1}.test.mjs`)
    writeFileSync(module, `import { runInTurn } from '${runner}'\nawait runInTurn(${JSON.stringify(group, null, 2)})\n`)
    return module
  })
}

const textOf = (file: string): string => readFileSync(file, 'utf8')
const sizeOf = (file: string): number => statSync(file).size
