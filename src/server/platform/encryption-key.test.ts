import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { loadEncryptionKey } from './encryption-key.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'switchyard-key-'))
after(() => rmSync(dataDir, { recursive: true }))

test('a key is made once, for this user alone, and found again', () => {
  const inside = join(dataDir, 'new', 'folder')
  const key = loadEncryptionKey({ given: undefined, dataDir: inside })
  assert.equal(key.length, 32)
  assert.deepEqual(loadEncryptionKey({ given: undefined, dataDir: inside }), key)
  assert.equal(statSync(join(inside, 'encryption.key')).mode & 0o777, 0o600)
})

test('a configured key wins, and no file is touched', () => {
  const given = Buffer.alloc(32, 7).toString('base64')
  assert.deepEqual(loadEncryptionKey({ given, dataDir: '/nonexistent' }), Buffer.alloc(32, 7))
})

test('a damaged file is refused, not replaced: what it sealed would be lost', () => {
  writeFileSync(join(dataDir, 'encryption.key'), 'damaged')
  assert.throws(() => loadEncryptionKey({ given: undefined, dataDir }), /does not hold a key/)
})
