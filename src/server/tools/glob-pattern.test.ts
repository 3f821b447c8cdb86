import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextPass } from 'node:timers/promises'
import { GlobAutomaton } from './glob-automaton.ts'
import { globSteps } from './glob-pattern.ts'
import { pathsThatFit } from './glob-search.ts'

const table: [pattern: string, fits: string[], fitsNot: string[]][] = [
  ['*.ts', ['a.ts', '.ts'], ['a/b.ts', 'a.tsx', 'ts']],
  ['**/*.ts', ['a.ts', 'a/b.ts', 'a/b/c.ts'], ['a.js']],
  ['src/**', ['src', 'src/a', 'src/a/b'], ['a', 'src2/a']],
  ['src/**/test/*.ts', ['src/test/a.ts', 'src/x/y/test/a.ts'], ['src/test/x/a.ts']],
  ['**/a/**/b', ['a/b', 'x/a/y/b', 'a/x/a/b'], ['a', 'b', 'x/b', 'xa/b']],
  ['**', ['a', 'a/b'], []],
  ['**/**/a/**/**', ['a', 'x/a', 'x/a/y/z'], ['b', 'xa']],
  ['a**b', ['ab', 'axb'], ['a/b']],
  ['a?c', ['abc', 'a\u{1f600}c'], ['ac', 'a/c', 'abbc']],
  ['[a-c]x[!0-9]', ['axx', 'cx-'], ['dxx', 'ax1']],
  ['a[!b]c', ['axc'], ['abc', 'a/c']],
  ['[]]', [']'], ['[']],
  ['[a', ['[a'], ['a']],
  ['*.{ts,tsx}', ['a.ts', 'a.tsx'], ['a.js']],
  ['{a,b{c,d}}/*', ['a/x', 'bc/x', 'bd/x'], ['b/x']],
  ['a.b', ['a.b'], ['axb']],
  ['\\*', ['*'], ['a']],
  ['(a+)+$', ['(a+)+$'], ['aaa']],
  ['', [''], ['a']],
]

const never = new AbortController().signal

for (const [pattern, fits, fitsNot] of table) {
  test(`${JSON.stringify(pattern)} matches the expected paths`, async () => {
    assert.deepEqual(await pathsThatFit(pattern, [...fits, ...fitsNot], never), fits)
  })
}

const longNames = (count: number) => Array.from({ length: count }, (_, at) => `${'ab'.repeat(118)}${at}`)
const letters = Array.from({ length: 300 }, (_, at) =>
  Array.from({ length: 240 }, (_, index) => 'abcd'[(at * index * 7 + (index >> 2) + at) % 4]).join(''),
)
const hostile: readonly (readonly [what: string, pattern: string, paths: readonly string[]])[] = [
  ['nested alternatives', `${'{*a,{*b,*ab}}'.repeat(3)}*${'a*b'.repeat(15)}c`, longNames(300)],
  ['stars', `${'*a'.repeat(450)}c`, longNames(300)],
  ['question marks behind stars', `{${'*a????????????c*d,'.repeat(40)}*b???????c*d}`, letters],
  ['long sets', `*[!${'c-de-f'.repeat(150)}]x`, longNames(300)],
  ['folders', `${'**/a/'.repeat(150)}b`, Array.from({ length: 300 }, () => 'a/'.repeat(500))],
]

for (const [what, pattern, paths] of hostile) {
  test(`H4: a glob with ${what} does a bounded amount of work, in slices`, () => {
    const automaton = new GlobAutomaton(pattern)
    const matches = automaton.matches(paths, 1_000)
    let before = automaton.work
    while (!matches.next().done) {
      assert.ok(automaton.work - before < 100_000, `a piece had ${automaton.work - before} units`)
      before = automaton.work
      if (before > 20_000_000) break
    }
    assert.ok(before < 20_100_000)
  })
}

test('H4: a glob that is too complex for its paths is rejected and does not block others', async () => {
  const random = Array.from({ length: 3_000 }, (_, at) => `${Math.sin(at)}${Math.cos(at)}`.repeat(20))
  const pattern = `{${Array.from({ length: 40 }, (_, at) => `*${at % 10}${'?'.repeat(at % 20)}5*7`).join(',')}}`
  let passes = 0
  let isOver = false
  const counting = (async () => {
    for (; !isOver; passes++) await nextPass()
  })()
  const complex = pathsThatFit(pattern, random, never).finally(() => {
    isOver = true
  })
  const simple = pathsThatFit('*.ts', ['a.ts', 'b'], never)
  assert.deepEqual(await simple, ['a.ts'])
  assert.equal(isOver, false, 'the simple pattern is answered first')
  await assert.rejects(complex, { code: 'invalid_request', message: /too complex for 3000 files/ })
  await counting
  assert.ok(passes > 20, `the event loop made ${passes} passes`)
})

test('H4: an abort stops a glob', async () => {
  const stop = new AbortController()
  const searching = pathsThatFit('**/*.ts', longNames(50_000), stop.signal)
  stop.abort()
  await assert.rejects(searching, { name: 'AbortError' })
})

test('H4: the alternatives of a pattern are limited in number and size', () => {
  for (const pattern of ['{a,b}'.repeat(30), `{a,b,c,d,e,f}${'x'.repeat(900)}`])
    assert.throws(() => globSteps(pattern), { code: 'invalid_request', message: /alternatives/ })
  assert.equal(globSteps('{a,a,a}'.repeat(30)).length, 1, 'equal alternatives count once')
})
