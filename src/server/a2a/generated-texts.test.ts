import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GeneratedTexts, type TextChunk } from './generated-texts.ts'

/** What a client has of an artifact after these chunks. */
const joined = (chunks: readonly (TextChunk | undefined)[]): string =>
  chunks.reduce((text, chunk) => (chunk?.append ? text : '') + (chunk?.text ?? ''), '')

test('the chunks of an answer are its text, each part once', () => {
  const texts = new GeneratedTexts()
  texts.begin('a')
  const chunks = [texts.add('a', 'Hel'), texts.add('a', 'lo, '), texts.end('a', 'Hello, world')]
  assert.deepEqual(
    chunks.map(chunk => [chunk?.text, chunk?.append, chunk?.lastChunk]),
    [
      ['Hel', false, false],
      ['lo, ', true, false],
      ['world', true, true],
    ],
  )
})

test('an answer with a missed piece is replaced by the whole', () => {
  const texts = new GeneratedTexts()
  texts.begin('a')
  const chunks = [texts.add('a', 'Hel'), texts.add('a', 'world'), texts.end('a', 'Hello, world')]
  assert.equal(joined(chunks), 'Hello, world')
  assert.deepEqual([chunks[2]?.append, chunks[2]?.lastChunk], [false, true])
})

test('an answer whose start was missed comes as a whole', () => {
  const texts = new GeneratedTexts()
  assert.equal(texts.add('a', 'lo'), undefined)
  assert.equal(texts.end('a', 'Hello'), undefined)
})

test('an answer that is not stored is emptied', () => {
  const texts = new GeneratedTexts()
  texts.begin('a')
  texts.begin('b')
  const chunk = texts.add('a', 'Hel')
  const dropped = texts.drop()
  assert.deepEqual(dropped, [{ artifactId: 'a', text: '', append: false, lastChunk: true }])
  assert.equal(joined([chunk, ...dropped]), '')
  assert.deepEqual(texts.drop(), [])
})

test('pieces that come after the whole answer are left out', () => {
  const texts = new GeneratedTexts()
  texts.end('a', 'Hello')
  texts.begin('a')
  assert.equal(texts.add('a', 'Hel'), undefined)
  assert.deepEqual(texts.drop(), [])
})
