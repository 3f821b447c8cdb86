import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileContentOf, isPage } from './file-kind.ts'

const bytesOf = (...bytes: number[]): ArrayBuffer => new Uint8Array(bytes).buffer

test('UTF-8 is text; other encodings and NUL bytes are not', () => {
  assert.deepEqual(fileContentOf(bytesOf(0xc3, 0xa9)), { isText: true, text: 'é' })
  assert.deepEqual(fileContentOf(bytesOf(0xff, 0xfe)), { isText: false })
  assert.deepEqual(fileContentOf(bytesOf(0x61, 0x00)), { isText: false })
  assert.deepEqual(fileContentOf(bytesOf()), { isText: true, text: '' })
})

test('A preview is offered for HTML and SVG', () => {
  assert.deepEqual(['a.html', 'a/b.HTM', 'icon.svg', 'a.md', 'html'].map(isPage), [true, true, true, false, false])
})
