import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from './blocks.ts'
import { acceptedMedia } from './media.ts'

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }
const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AA==' } }
const text = { type: 'text', text: 'a.png' }
const messages: Message[] = [
  { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'read', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [text, image, document] }, text] },
]
const contentFor = (images: boolean, documents: boolean) => {
  const block = acceptedMedia(messages, { images, documents })[1]?.content[0] ?? {}
  return (block['content'] as { type: string }[]).map(({ type }) => type)
}

test('a model gets only the media of results that it reads, and a text for the others', () => {
  assert.deepEqual(contentFor(true, true), ['text', 'image', 'document'])
  assert.deepEqual(contentFor(true, false), ['text', 'image', 'text'])
  assert.deepEqual(contentFor(false, true), ['text', 'text', 'document'])
  assert.deepEqual(contentFor(false, false), ['text', 'text', 'text'])
})

test('messages without such media are the same', () => {
  const plain = messages.slice(0, 1)
  assert.deepEqual(acceptedMedia(plain, { images: false, documents: false }), plain)
})
