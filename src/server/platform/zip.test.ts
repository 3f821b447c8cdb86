import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { isZip, unzip, type ZipEntry } from './zip-read.ts'
import { zipOf } from './zip-write.ts'

const time = new Date('2026-11-27T12:34:56Z')
const limits = { maxFiles: 3, maxBytes: 1000 }
const entry = (path: string, text: string): ZipEntry => ({ path, content: Buffer.from(text) })
const entries = [entry('a/SKILL.md', 'x'.repeat(500)), entry('a/über.txt', ''), entry('a/b/c.bin', '\0ÿ')]

/** A copy with other bytes wherever `from` is. */
function replaced(bytes: Buffer, from: string, to: string): Buffer {
  assert.equal(from.length, to.length)
  return Buffer.from(bytes.toString('latin1').replaceAll(from, to), 'latin1')
}

test('what is packed is unpacked with its paths, also a file without bytes', async () => {
  const packed = await zipOf(entries, time)
  assert.ok(isZip(packed))
  assert.ok(packed.length < 500, 'it is compressed')
  assert.deepEqual(await unzip(packed, limits), entries)
  assert.ok(!isZip(Buffer.from('---\nname: a\n---')))
})

test('an archive that the program zip made is unpacked', async () => {
  // mkdir a; printf hello >a/SKILL.md; zip -r - a
  const made =
    'UEsDBAoAAAAAAGBfe10AAAAAAAAAAAAAAAACABwAYS9VVAkAA4NwCWuDcAlrdXgLAAEEAAAAAAQAAAAAUEsDBBQACAAIAGBfe10AAAAA' +
    'AAAAAAUAAAAKABwAYS9TS0lMTC5tZFVUCQADg3AJa4NwCWt1eAsAAQQAAAAABAAAAADLSM3JyQcAUEsHCIamEDYHAAAABQAAAFBLAQIe' +
    'AwoAAAAAAGBfe10AAAAAAAAAAAAAAAACABgAAAAAAAAAEADtQQAAAABhL1VUBQADg3AJa3V4CwABBAAAAAAEAAAAAFBLAQIeAxQACAAI' +
    'AGBfe12GphA2BwAAAAUAAAAKABgAAAAAAAEAAACkgTwAAABhL1NLSUxMLm1kVVQFAAODcAlrdXgLAAEEAAAAAAQAAAAAUEsFBgAAAAAC' +
    'AAIAmAAAAJcAAAAAAA=='
  assert.deepEqual(await unzip(Buffer.from(made, 'base64'), limits), [entry('a/SKILL.md', 'hello')])
})

test('limits hold whatever sizes an archive states', async () => {
  const bomb = await zipOf([entry('a/zeros', '\0'.repeat(1_000_000))], time)
  await assert.rejects(unzip(bomb, limits), /exceed 1000 bytes/)
  // The stated size is small, but not that of the content.
  const size = (bytes: number) => {
    const field = Buffer.alloc(4)
    field.writeUInt32LE(bytes)
    return field.toString('latin1')
  }
  await assert.rejects(unzip(replaced(bomb, size(1_000_000), size(10)), limits), /"a\/zeros" is damaged/)
  const many = ['a/1', 'a/2', 'a/3', 'a/4'].map(path => entry(path, ''))
  await assert.rejects(unzip(await zipOf(many, time), limits), /more than 3 files/)
})

test('a damaged, cut or foreign archive is an error that names the file', async () => {
  const packed = await zipOf([entry('a/b.txt', 'some text')], time)
  const link = Buffer.from(packed)
  link.writeUInt32LE((0o120777 << 16) >>> 0, packed.indexOf('PK\x01\x02') + 38)
  await assert.rejects(unzip(link, limits), /"a\/b\.txt" is not a regular file/)
  const stored = deflateRawSync('some text').toString('latin1')
  const changed = deflateRawSync('same text').toString('latin1')
  await assert.rejects(unzip(replaced(packed, stored, changed), limits), /"a\/b\.txt" is damaged/)
  const locked = Buffer.from(packed)
  locked.writeUInt16LE(1, packed.indexOf('PK\x01\x02') + 8)
  await assert.rejects(unzip(locked, limits), /is encrypted/)
  for (const bytes of [packed.subarray(0, -1), packed.subarray(10), Buffer.from('PK\x03\x04'), Buffer.alloc(0)])
    await assert.rejects(unzip(bytes, limits), { code: 'invalid_request' })
})
