import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/support/service/data-folder.ts'
import { AppError } from '../platform/errors.ts'
import { frameTypes, magic } from './format.ts'
import { type Part, readBackup } from './read-file.ts'
import { createBackupFile } from './write-file.ts'

const folder = temporaryFolder()
const passphrase = 'a long enough passphrase'

async function* chunks(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text)
}

async function written(name: string, secret: string | undefined): Promise<string> {
  const path = join(folder, name)
  const writer = await createBackupFile(path, secret)
  await writer.json('manifest', { version: '0', tables: [{ name: 'one' }] })
  await writer.table('one', chunks('1\tfirst\n2\t', 'second\n'))
  await writer.finish()
  await writer.close()
  return path
}

async function readAll(path: string, secret: string | undefined): Promise<Part[]> {
  return Array.fromAsync(readBackup({ path, passphrase: secret }))
}

for (const secret of [undefined, passphrase]) {
  const kind = secret === undefined ? 'plain' : 'encrypted'

  test(`a ${kind} file is read only when it is complete and every byte is unchanged`, async () => {
    const path = await written(`${kind}.backup`, secret)
    const parts = await readAll(path, secret)
    assert.deepEqual(
      parts.map(({ type }) => type),
      ['manifest', 'table', 'rows', 'tableEnd', 'end'],
    )
    const bytes = await readFile(path)
    // Each attempt on an encrypted file derives the key again, which is slow on purpose.
    const step = secret === undefined ? 1 : Math.ceil(bytes.length / 6)
    const copy = join(folder, `${kind}-changed.backup`)
    let refused = 0
    for (let at = 0; at < bytes.length; at += step) {
      await writeFile(copy, bytes.subarray(0, at))
      await assert.rejects(readAll(copy, secret), AppError, `cut at ${at}`)
      const flipped = Buffer.from(bytes)
      flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at)
      await writeFile(copy, flipped)
      // Some bits of a compressed frame have no effect; those of the last one have no digest.
      const read = await readAll(copy, secret).catch((error: unknown) => error)
      if (!(read instanceof AppError)) assert.deepEqual(read, parts, `changed at ${at}`)
      else refused += 1
    }
    assert.ok(refused * step > bytes.length * 0.8)
  })
}

const invalid = async (content: Buffer | string, secret?: string): Promise<string> => {
  const path = join(folder, 'invalid.backup')
  await writeFile(path, content)
  const error = await readAll(path, secret).catch((failure: unknown) => failure)
  assert.ok(error instanceof AppError, String(error))
  return error.message
}

test('a file of a newer format is rejected with the next step', async () => {
  const message = await invalid(`${magic}2\n{}\n`)
  assert.match(message, /^backup has format 2; this version reads format 1; restore it with the version that wrote it/)
  assert.match(await invalid(`${magic}one\n{}\n`), /unknown format/)
})

test('invalid headers and frames are reported as damage', async () => {
  assert.match(await invalid(`${magic}1\nnull\n`), /header is not an object/)
  assert.match(await invalid(`${magic}1\n${'x'.repeat(5_000)}\n`), /header is too long/)
  assert.match(await invalid(`${magic}1\n{}\n`), /incomplete/)
  const frame = (length: number) => {
    const head = Buffer.alloc(5)
    head.writeUInt8(frameTypes.manifest, 0)
    head.writeUInt32BE(length, 1)
    return head
  }
  assert.match(await invalid(Buffer.concat([Buffer.from(`${magic}1\n{}\n`), frame(2 ** 31)])), /unknown content/)
  assert.match(await invalid(Buffer.concat([Buffer.from(`${magic}1\n{}\n`), frame(0)])), /cannot be decompressed/)
  const settings = { kdf: 'scrypt', cost: 2, blockSize: 8, parallelization: 1, salt: 'AAAA' }
  const encrypted = (change: object) => `${magic}1\n${JSON.stringify({ encryption: { ...settings, ...change } })}\n`
  for (const change of [{ cost: 2 ** 24 }, { cost: -2 }, { cost: 3 }, { blockSize: 0.5 }, { salt: 1 }, { kdf: 'none' }])
    assert.match(await invalid(encrypted(change), passphrase), /unknown settings/, JSON.stringify(change))
  assert.match(
    await invalid(Buffer.concat([Buffer.from(encrypted({})), frame(3), Buffer.alloc(3)]), passphrase),
    /wrong/,
  )
})

test('an existing file is never overwritten', async () => {
  const path = join(folder, 'kept.backup')
  await writeFile(path, 'kept')
  await assert.rejects(createBackupFile(path, undefined), /another backup writes it/)
  assert.equal(await readFile(path, 'utf8'), 'kept')
  await assert.rejects(createBackupFile(join(folder, 'none', 'new.backup'), undefined), /folder .*none does not exist/)
})
