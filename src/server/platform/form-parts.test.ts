import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formParts } from './form-parts.ts'

const line = '\r\n'
const part = (head: string, content: string) =>
  `--x${line}Content-Disposition: form-data; ${head}${line}${line}${content}${line}`
const tricky = `--x is content${line}--xy${line}--${line}\0ÿ${line}${line}--xz`
const whole = `a preamble${line}${part(`name="file"; filename="a%22b.txt"${line}Content-Type: text/plain`, tricky)}${part(
  'name="purpose"',
  'user_data',
)}${part('name=empty', '')}--x--${line}an epilogue`

async function* chunksOf(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(text: string, { size = 7, maxBytes = 100_000 } = {}) {
  const parts: (readonly unknown[])[] = []
  for await (const { name, filename, contentType, content } of formParts(chunksOf(text, size), {
    boundary: 'x',
    maxBytes,
  }))
    parts.push([name, filename, contentType, Buffer.concat(await Array.fromAsync(content)).toString()])
  return parts
}

test('the parts of a form are the same for chunks of any size', async () => {
  for (const size of [1, 2, 3, 5, 64, 200, 10_000]) {
    assert.deepEqual(
      await read(whole, { size }),
      [
        ['file', 'a"b.txt', 'text/plain', tricky],
        ['purpose', undefined, undefined, 'user_data'],
        ['empty', undefined, undefined, ''],
      ],
      String(size),
    )
  }
})

test('content that is not read is skipped, and a form may be empty', async () => {
  const names: string[] = []
  for await (const { name } of formParts(chunksOf(whole, 9), { boundary: 'x', maxBytes: 10_000 })) names.push(name)
  assert.deepEqual(names, ['file', 'purpose', 'empty'])
  assert.deepEqual(await read(`--x--${line}`), [])
})

test('content is passed on as it arrives, even if each of its lines starts with a boundary', async () => {
  const size = 1_000
  const content = `${line}--x is content`.repeat(1_000)
  const chunks = chunksOf(`${part('name="file"; filename="a"', content)}--x--`, size)
  const pieces: Buffer[] = []
  for await (const { content: found } of formParts(chunks, { boundary: 'x', maxBytes: 100_000 }))
    for await (const piece of found) pieces.push(piece)
  assert.equal(Buffer.concat(pieces).toString(), content)
  assert.ok(pieces.every(({ length }) => length <= 2 * size))
})

const file = part('name="file"; filename="a"', 'content')
for (const [what, text, options, message] of [
  ['ends in a file', file.slice(0, -4), {}, /truncated: the form has no closing boundary/],
  ['ends after a part', file, {}, /truncated/],
  ['has no boundary', 'nothing of it', {}, /truncated/],
  ['has long headers', part(`name="file"; filename="${'a'.repeat(17_000)}"`, ''), {}, /headers longer than 16 KiB/],
  ['has a part without a name', `${part('filename="a"', 'b')}--x--`, {}, /a part of the form has no name/],
  ['is too large', `${file}--x--`, { maxBytes: 50 }, /request body exceeds 50 bytes/],
] as const) {
  test(`a form that ${what} is rejected`, async () => {
    await assert.rejects(read(text, options), ({ message: text }: Error) => message.test(text))
  })
}
