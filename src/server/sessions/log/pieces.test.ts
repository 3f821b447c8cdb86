import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pieces } from './pieces.ts'
import type { Preview } from './remote-previews.ts'

const piece = (event_id: string, text: string): Preview => ({
  type: 'event_delta',
  event_id,
  delta: { type: 'content_delta', content: { type: 'text', text } },
})
const textsOf = (previews: readonly Preview[]) =>
  previews.map(preview =>
    preview.type === 'event_delta' ? [preview.event_id, preview.delta.content.text] : [preview.event.id],
  )

test('pieces of an answer that follow each other are joined until they are taken', async () => {
  const pieces = new Pieces()
  const waiting = pieces.wait()
  pieces.addText('a', 'so far')
  pieces.add(piece('a', ', more'))
  pieces.add(piece('b', 'other'))
  await waiting
  await pieces.wait()
  assert.deepEqual(textsOf(pieces.take()), [['a'], ['a', 'so far, more'], ['b', 'other']])
  assert.deepEqual(pieces.take(), [])
})

test('a reader that takes nothing gets at most 1,000,000 characters', () => {
  const pieces = new Pieces()
  for (let at = 0; at < 3; at++) pieces.add(piece('a', 'x'.repeat(400_000)))
  assert.deepEqual(
    textsOf(pieces.take()).map(([, text]) => text?.length),
    [800_000],
  )
})
