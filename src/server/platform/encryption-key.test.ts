import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { encryptionKeyFile, isEncryptionKey, loadEncryptionKeys, makeEncryptionKey } from './encryption-key.ts'

const root = mkdtempSync(join(tmpdir(), 'switchyard-key-'))
after(() => rmSync(root, { recursive: true }))

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64')

/** A data folder with this text as its key file. */
function folderWith(text: string, mode = 0o600): string {
  const dataDir = mkdtempSync(join(root, 'data-'))
  writeFileSync(encryptionKeyFile(dataDir), text)
  chmodSync(encryptionKeyFile(dataDir), mode)
  return dataDir
}

test('S16: a key is created once, private to this user, and loaded later', () => {
  const dataDir = join(root, 'new', 'folder')
  assert.equal(loadEncryptionKeys({ given: [], dataDir }), undefined)
  makeEncryptionKey(dataDir)
  const keys = loadEncryptionKeys({ given: [], dataDir })
  assert.deepEqual(
    keys?.map(key => key.length),
    [32],
  )
  makeEncryptionKey(dataDir)
  assert.deepEqual(loadEncryptionKeys({ given: [], dataDir }), keys)
  assert.equal(statSync(encryptionKeyFile(dataDir)).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(dataDir), ['encryption.key'])
})

test('loading keys does not create one', () => {
  const dataDir = join(root, 'never')
  loadEncryptionKeys({ given: [], dataDir })
  assert.throws(() => statSync(dataDir), { code: 'ENOENT' })
})

test('S13: configured keys override the file and keep their order', () => {
  const given = [keyOf(7), keyOf(8)]
  const expected = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)]
  assert.deepEqual(loadEncryptionKeys({ given, dataDir: folderWith('damaged', 0o644) }), expected)
})

test('S13: the file may hold several keys, one a line', () => {
  const dataDir = folderWith(`${keyOf(1)}\r\n\n  ${keyOf(2)}\n`)
  assert.deepEqual(loadEncryptionKeys({ given: [], dataDir }), [Buffer.alloc(32, 1), Buffer.alloc(32, 2)])
})

const damaged = [
  ['an empty file', ''],
  ['blank lines', '\n \n'],
  ['text', 'damaged'],
  ['31 bytes', Buffer.alloc(31, 1).toString('base64')],
  ['33 bytes', Buffer.alloc(33, 1).toString('base64')],
  ['hexadecimal', '01'.repeat(32)],
  ['a good key and a cut one', `${keyOf(1)}\n${keyOf(2).slice(0, 20)}`],
] as const
for (const [name, text] of damaged) {
  test(`S16: a key file with ${name} is rejected and not replaced, since encrypted values would be lost`, () => {
    const dataDir = folderWith(text)
    assert.throws(() => loadEncryptionKeys({ given: [], dataDir }), /does not contain encryption keys of 32 bytes/)
    assert.equal(readFileSync(encryptionKeyFile(dataDir), 'utf8'), text)
  })
}

for (const mode of [0o644, 0o640, 0o620, 0o604, 0o660, 0o777, 0o601]) {
  test(`S16: a key file of mode ${mode.toString(8)} is rejected with the next step`, () => {
    const dataDir = folderWith(keyOf(1), mode)
    assert.throws(() => loadEncryptionKeys({ given: [], dataDir }), /mode \d+.*run chmod 600 .*encryption\.key/)
  })
}

test('a key file that is a folder is rejected with the reason', () => {
  const dataDir = mkdtempSync(join(root, 'data-'))
  mkdirSync(encryptionKeyFile(dataDir))
  assert.throws(() => loadEncryptionKeys({ given: [], dataDir }), /cannot read the encryption key: EISDIR/)
})

test('concurrent processes that create a key all load the same one', async () => {
  const dataDir = join(root, 'shared')
  const code = `import { makeEncryptionKey, loadEncryptionKeys } from ${JSON.stringify(join(import.meta.dirname, 'encryption-key.ts'))}
    makeEncryptionKey(${JSON.stringify(dataDir)})
    process.stdout.write(loadEncryptionKeys({ given: [], dataDir: ${JSON.stringify(dataDir)} })[0].toString('hex'))`
  const read = async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk
    })
    const [status] = await once(child, 'close')
    assert.equal(status, 0)
    return text
  }
  const keys = await Promise.all([read(), read(), read(), read()])
  assert.equal(new Set(keys).size, 1)
  assert.equal(keys[0]?.length, 64)
  assert.deepEqual(readdirSync(dataDir), ['encryption.key'])
})

test('only 32 bytes in base64 are a key', () => {
  assert.equal(isEncryptionKey(keyOf(1)), true)
  for (const text of ['', keyOf(1).slice(1), `${keyOf(1)} `, `${keyOf(1)}\n`, keyOf(1).replace('=', '')]) {
    assert.equal(isEncryptionKey(text), false, text)
  }
})
