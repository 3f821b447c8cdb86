import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unzip, type ZipEntry, zipOf } from './zip.ts'

const limits = { maxFiles: 3, maxBytes: 1_000 }
const entry = (path: string, content = 'text'): ZipEntry => ({ path, content: Buffer.from(content) })
const archive = (...entries: readonly ZipEntry[]) => zipOf(entries, new Date('2026-11-27T10:00:00Z'))

/** Returns the archive with bytes of one text instead of another of the same length, everywhere. */
function replaced(bytes: Buffer, from: string, to: string): Buffer {
  assert.equal(from.length, to.length)
  return Buffer.from(bytes.toString('latin1').replaceAll(from, to), 'latin1')
}

/** Returns the archive with a 16-bit number in the listing of its first file. */
function listedWith(bytes: Buffer, offset: number, value: number): Buffer {
  const changed = Buffer.from(bytes)
  changed.writeUInt16LE(value, changed.indexOf('PK\x01\x02', 0, 'latin1') + offset)
  return changed
}

test('files come out of an archive as they went in, and folders and names outside of ASCII do no harm', async () => {
  const files = [entry('a/one.txt', 'One'), entry('a/ü/二.txt', ''), entry('b', 'x'.repeat(900))]
  assert.deepEqual(await unzip(await archive(...files), limits), files)
  assert.deepEqual(await unzip(replaced(await archive(entry('a/b')), 'a/b', 'ab/'), limits), [])
})

test('a path out of the folder is left to the caller', async () => {
  const [only] = await unzip(replaced(await archive(entry('a/bb/bb/x')), 'a/bb/bb/x', 'a/../../x'), limits)
  assert.equal(only?.path, 'a/../../x')
})

test('limits hold whatever sizes an archive states', async () => {
  const many = await archive(...'abcd'.split('').map(name => entry(name)))
  await assert.rejects(unzip(many, limits), /zip: more than 3 files/)
  const big = await archive(entry('a', 'x'.repeat(600)), entry('b', 'x'.repeat(600)))
  await assert.rejects(unzip(big, limits), /zip: files exceed 1000 bytes when unpacked/)
  const bomb = listedWith(await archive(entry('bomb', 'x'.repeat(60_000))), 24, 10)
  await assert.rejects(unzip(bomb, limits), /zip: "bomb" is damaged/)
})

test('links, encryption, unknown compression, damage and other bytes are refused', async () => {
  const good = await archive(entry('a', 'some text, some text'))
  await assert.rejects(unzip(listedWith(good, 40, 0o120777), limits), /zip: "a" is not a regular file/)
  await assert.rejects(unzip(listedWith(good, 8, 1), limits), /zip: "a" is encrypted/)
  await assert.rejects(unzip(listedWith(good, 10, 12), limits), /zip: "a" has an unknown compression/)
  await assert.rejects(unzip(listedWith(good, 16, 0), limits), /zip: "a" is damaged/)
  for (const bytes of [Buffer.from('PK\x03\x04 and no more'), good.subarray(0, 60), Buffer.alloc(100)])
    await assert.rejects(unzip(bytes, limits), /zip: the archive is malformed/)
})
