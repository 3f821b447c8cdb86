import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fold, wordsQuery } from './fold.ts'

test('comparison ignores case, also for a letter with two lower case forms', () => {
  for (const [one, other] of [
    ['ÄRGER', 'ärger'],
    ['ΟΔΟΣ', 'οδος'],
    ['Οδός', 'ΟΔΌΣ'],
    ['МОСКВА', 'москва'],
  ] as const)
    assert.equal(fold(one), fold(other))
  assert.ok(fold('ΟΔΟΣΑ').includes(fold('ΟΔΟΣ')))
})

test('fewer than two words are not a search for words', () => {
  for (const q of ['tabs', ' tabs ', 'tabs tabs', '%', '& | !', '']) assert.equal(wordsQuery(q), undefined)
})

test('a long word matches by prefix, and a short word only itself', () => {
  assert.equal(wordsQuery('Which Indent?  in go'), "'whic':* | 'inden':* | 'in' | 'go'")
})

test('S52: no text in q becomes an operator of the text search', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), q => {
      assert.match(wordsQuery(q) ?? '', /^('[\p{L}\p{M}\p{N}]+'(:\*)?( \| |$))*$/u)
    }),
  )
})
