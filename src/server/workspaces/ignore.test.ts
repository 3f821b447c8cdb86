import assert from 'node:assert/strict'
import { test } from 'node:test'
import { processorMs } from '../../../test/support/service/processor-time.ts'
import { ignoreRules } from './ignore.ts'

const isIgnored = (text: string, path: string): boolean =>
  ignoreRules(text).ignores(path.replace(/\/$/, ''), path.endsWith('/'))

const cases: readonly (readonly [rules: string, path: string, isIgnored: boolean])[] = [
  ['', 'node_modules/', true],
  ['', 'packages/web/node_modules/', true],
  ['', 'node_modules', false],
  ['', 'src/a.ts', false],
  ['!node_modules/', 'node_modules/', false],
  ['*.log', 'deep/down/x.log', true],
  ['*.log', 'x.logs', false],
  ['/build', 'build/', true],
  ['/build', 'src/build/', false],
  ['dist/', 'dist', false],
  ['docs/*.pdf', 'docs/a.pdf', true],
  ['docs/*.pdf', 'docs/deep/a.pdf', false],
  ['docs/**/*.pdf', 'docs/very/deep/a.pdf', true],
  ['a/**', 'a/b/c', true],
  ['*.bin\n!keep.bin', 'keep.bin', false],
  ['file[0-9].txt', 'file7.txt', true],
  ['file[!0-9].txt', 'file7.txt', false],
  ['# comment\r\n\r\nsecret.txt\r\n', 'secret.txt', true],
  ['\\#name', '#name', true],
  ['a.txt  ', 'a.txt', true],
  ['a\\   ', 'a ', true],
  ['a\\   ', 'a', false],
]

for (const [rules, path, expected] of cases) {
  test(`${JSON.stringify(rules)} ${expected ? 'leaves out' : 'keeps'} ${path}`, () => {
    assert.equal(isIgnored(rules, path), expected)
  })
}

test('rules beyond the limits are ignored and reported', () => {
  const many = ignoreRules(Array.from({ length: 300 }, (_, at) => `f${at}`).join('\n'))
  assert.ok(many.problem?.includes('200'))
  assert.ok(many.ignores('f199', false) && !many.ignores('f200', false))
  assert.equal(ignoreRules('a\nb').problem, undefined)
})

test('a pattern with many stars is matched quickly', () => {
  const rules = ignoreRules(`${'*a'.repeat(90)}b`)
  assert.equal(rules.ignores('a'.repeat(250), false), false)
})

test('H4: a long line of spaces is read in linear time', () => {
  const text = `${' '.repeat(200_000)}x\n*.log`
  // A regular expression takes over 10 s.
  assert.ok(processorMs(() => assert.ok(isIgnored(text, 'a.log'))) < 1_000)
})
