import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchOpenFiles } from './open-files.ts'

test('V3: a process is short of descriptors when few are left, or when they cannot even be counted', () => {
  const at = (used: number, limit: number) => watchOpenFiles(() => ({ used, limit })).shortage
  assert.equal(at(100, 1024), undefined)
  assert.match(at(980, 1024) ?? '', /^980 of 1024 file descriptors are in use; raise the limit/)
  assert.equal(at(19_743, 20_000), undefined)
  assert.match(at(19_744, 20_000) ?? '', /19744 of 20000/)
  let isFull = false
  const files = watchOpenFiles(() => {
    if (isFull) throw new Error('EMFILE')
    return { used: 1, limit: 100 }
  })
  isFull = true
  assert.match(files.shortage ?? '', /^no file descriptor is free/)
})

test('V3: connections of clients leave room for the descriptors that their requests need', () => {
  assert.equal(watchOpenFiles(() => ({ used: 1, limit: 1024 })).maxConnections, 1024 - 3 * 51)
  assert.equal(watchOpenFiles(() => ({ used: 1, limit: 64 })).maxConnections, 1)
  assert.equal(watchOpenFiles(() => undefined).maxConnections, undefined)
})

test('V3: the descriptors of this process are counted', { skip: process.platform !== 'linux' }, () => {
  const { shortage, maxConnections } = watchOpenFiles()
  assert.equal(shortage, undefined)
  assert.ok((maxConnections ?? 0) > 1)
})
