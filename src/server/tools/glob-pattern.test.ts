import assert from 'node:assert/strict'
import { test } from 'node:test'
import { globMatcher } from './glob-pattern.ts'

const table: [pattern: string, fits: string[], fitsNot: string[]][] = [
  ['*.ts', ['a.ts', '.ts'], ['a/b.ts', 'a.tsx', 'ts']],
  ['**/*.ts', ['a.ts', 'a/b.ts', 'a/b/c.ts'], ['a.js']],
  ['src/**', ['src/a', 'src/a/b'], ['a', 'src2/a']],
  ['src/**/test/*.ts', ['src/test/a.ts', 'src/x/y/test/a.ts'], ['src/test/x/a.ts']],
  ['**/a/**/b', ['a/b', 'x/a/y/b', 'a/x/a/b'], ['a', 'b', 'x/b']],
  ['**', ['a', 'a/b'], []],
  ['a?c', ['abc', 'a\u{1f600}c'], ['ac', 'a/c', 'abbc']],
  ['[a-c]x[!0-9]', ['axx', 'cx-'], ['dxx', 'ax1']],
  ['[]]', [']'], ['[']],
  ['[a', ['[a'], ['a']],
  ['*.{ts,tsx}', ['a.ts', 'a.tsx'], ['a.js']],
  ['{a,b{c,d}}/*', ['a/x', 'bc/x', 'bd/x'], ['b/x']],
  ['a.b', ['a.b'], ['axb']],
  ['\\*', ['*'], ['a']],
  ['(a+)+$', ['(a+)+$'], ['aaa']],
  ['', [''], ['a']],
]

for (const [pattern, fits, fitsNot] of table) {
  test(`${JSON.stringify(pattern)} names the paths it should`, () => {
    const matcher = globMatcher(pattern)
    for (const path of fits) assert(matcher(path), path)
    for (const path of fitsNot) assert(!matcher(path), path)
  })
}

test('hostile patterns cost little time', () => {
  const from = performance.now()
  globMatcher(`${'*a'.repeat(200)}b`)('a'.repeat(5000))
  globMatcher(`${'**/a/'.repeat(100)}b`)('a/'.repeat(2000))
  assert.throws(() => globMatcher('{a,b}'.repeat(30)), { code: 'invalid_request' })
  assert(performance.now() - from < 1000)
})
