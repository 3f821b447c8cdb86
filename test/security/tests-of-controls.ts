import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
/** The first text of a call of `test`. Its quotes may contain the others. */
const testName = /\btest\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs
const controlId = /\bS\d\d\b/g

/** Returns the ids of controls in the name of a test. */
export const idsIn = (name: string): readonly string[] => [...new Set(name.match(controlId))]

/** Returns the id in the name of a check: `H4` of `h4-glob.check.ts`; empty for other files. */
export const idOfFile = (file: string): string =>
  /^([a-z]\d+)-.*\.check\.ts$/.exec(basename(file))?.[1]?.toUpperCase() ?? ''

/** Returns the files with checks that only `npm run security` runs, as paths from the root of the project. */
export const checkFiles = (): readonly string[] => globSync('test/security/*.check.ts', { cwd: root }).toSorted()

/** Returns the test files of `npm test` that name a control, each with the ids in it. */
export function testFiles(): ReadonlyMap<string, readonly string[]> {
  const files = globSync('{src,test,web/src}/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] }).toSorted()
  return new Map(files.map(file => [file, namedIn(file)] as const).filter(([, ids]) => ids.length > 0))
}

function namedIn(file: string): readonly string[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...new Set([...text.matchAll(testName)].flatMap(([, , name = '']) => idsIn(name)))].toSorted()
}

/** Files in which a test of a control builds on what an earlier test left: all of their tests run. */
export const wholeFiles: readonly string[] = [
  'src/server/mcp/registry/servers.test.ts',
  'src/server/rotation.test.ts',
  'src/server/tools/web/web.test.ts',
  'src/server/usage/routes.test.ts',
  'test/e2e/encryption-keys.test.ts',
]

/** Returns the ids of `wanted` that no test names. */
export function withoutTest(wanted: readonly string[]): readonly string[] {
  const named = new Set([...[...testFiles().values()].flat(), ...checkFiles().map(idOfFile)])
  return wanted.filter(id => !named.has(id))
}
