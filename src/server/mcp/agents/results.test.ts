import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Sandbox } from '../../sandboxes/sandbox.ts'
import { toolResult } from './results.ts'

const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(24)]).toString('base64')
const limits = { resultChars: 100, previewChars: 40 }

/** Converts a result for a model that reads images; `files` gets what was stored in the workspace. */
const converted = (result: { content: Record<string, unknown>[] }, { images = true, files = [] as string[] } = {}) =>
  toolResult(result, {
    limits,
    model: { images, documents: false },
    openSandbox: async () =>
      ({ files: { write: async (_path: string, text: string) => void files.push(text) } }) as unknown as Sandbox,
  })
const textOf = async (...content: Record<string, unknown>[]) => (await converted({ content })).content[0]?.text

test('blocks become one text, and each kind of block has one', async () => {
  assert.equal(await textOf({ type: 'text', text: 'a' }, { type: 'text', text: 'b' }), 'a\nb')
  assert.equal(await textOf({ type: 'resource_link', name: 'Doc', uri: 'file:///d' }), 'Doc: file:///d')
  assert.equal(await textOf({ type: 'resource', resource: { uri: 'file:///d', text: 'x' } }), 'file:///d\nx')
  assert.match(
    (await textOf({ type: 'audio', mimeType: 'audio/wav', data: 'AAAA' })) ?? '',
    /^\[audio: audio\/wav, about 3/,
  )
  assert.match(
    (await textOf({ type: 'resource', resource: { uri: 'u', blob: 'AAAA' } })) ?? '',
    /^\[resource u: unknown/,
  )
  assert.equal(await textOf({ type: 'dance' }), '[dance]')
  assert.equal(await textOf(), '(no output)')
  assert.equal(await textOf({ type: 'text', text: 'a\0b' }), 'a\u{fffd}b')
})

test('structured content is the text of a result without one', async () => {
  const structuredContent = { degrees: 21 }
  const only = await converted({ content: [], structuredContent } as never)
  assert.deepEqual(only.content, [{ type: 'text', text: '{"degrees":21}' }])
})

test('an image stays one only if it is an image and the model reads images', async () => {
  const image = { type: 'image', mimeType: 'image/png', data: png }
  const read = await converted({ content: [image] })
  assert.deepEqual(read.content, [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }])
  const described = /^\[image: image\/png, about \d+ bytes\]$/
  const unread = await converted({ content: [image] }, { images: false })
  assert.match(unread.content[0]?.text ?? '', described)
  const fake = await converted({ content: [{ ...image, data: Buffer.from('no image').toString('base64') }] })
  assert.match(fake.content[0]?.text ?? '', described)
  const many = await converted({ content: Array.from({ length: 6 }, () => image) })
  assert.equal(many.content.filter(({ type }) => type === 'image').length, 4)
})

test('a long result goes to a file of the workspace', async () => {
  const files: string[] = []
  const text = 'long '.repeat(100)
  const { content } = await converted({ content: [{ type: 'text', text }] }, { files })
  assert.deepEqual(files, [text])
  assert.match(content[0]?.text ?? '', /the whole output is in \.outputs\//)
})
