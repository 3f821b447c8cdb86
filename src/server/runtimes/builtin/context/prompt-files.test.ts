import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FilePart } from '../../../../contract/prompt-files.ts'
import type { Message } from './blocks.ts'
import { contentsFor, noContents, withFiles } from './prompt-files.ts'

const MiB = 1024 * 1024
const fileOf = (sha256: string, media_type: string, size: number): FilePart => ({
  type: 'file',
  name: `${sha256}.x`,
  media_type,
  size,
  sha256,
  path: `uploads/${sha256}/${sha256}.x`,
})
const asked = (...files: FilePart[]): Message[] => [{ role: 'user', content: files.map(file => ({ ...file })) }]
const all = { images: true, documents: true }

function reader() {
  const reads: string[] = []
  const read = async ({ sha256 }: FilePart) => {
    reads.push(sha256)
    return Buffer.from(sha256)
  }
  return { reads, read }
}

test('only files that the model accepts are read, and each only once', async () => {
  const { reads, read } = reader()
  const messages = asked(
    fileOf('a', 'image/png', 10),
    fileOf('b', 'application/pdf', 10),
    fileOf('c', 'text/csv', 10),
    fileOf('d', 'image/tiff', 10),
    fileOf('e', 'image/png', 4 * MiB),
    fileOf('a', 'image/png', 10),
  )
  const images = await contentsFor(messages, { images: true, documents: false }, { known: noContents, read })
  assert.deepEqual([...images.keys()], ['a'])
  const both = await contentsFor(messages, all, { known: images, read })
  assert.deepEqual([...both.keys()].toSorted(), ['a', 'b'])
  assert.deepEqual(reads, ['a', 'b'])
  assert.equal((await contentsFor(messages, { images: false, documents: false }, { known: both, read })).size, 0)
})

test('the newest files of a long conversation are sent, the others are named', async () => {
  const { read } = reader()
  const many = Array.from({ length: 8 }, (_, at) => fileOf(`f${at}`, 'image/png', 3.5 * MiB))
  const contents = await contentsFor(asked(...many), all, { known: noContents, read })
  assert.deepEqual([...contents.keys()], ['f7', 'f6', 'f5', 'f4'])
  const [message] = withFiles(asked(...many), contents)
  assert.equal(message?.content.filter(({ type }) => type === 'text').length, 8)
  assert.equal(message?.content.filter(({ type }) => type === 'image').length, 4)
})

test('messages without files are the same objects', () => {
  const messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
  assert.equal(withFiles(messages, noContents)[0], messages[0])
})
