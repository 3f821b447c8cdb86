import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  applied,
  changeOf,
  type Entry,
  type FileEntry,
  isSame,
  type Manifest,
  noChain,
  piecesOf,
  readChange,
  sizeOf,
  storedChange,
  writeChange,
} from './manifest.ts'

const file = (path: string, hash: string, more: Partial<FileEntry> = {}): FileEntry => ({
  kind: 'file',
  path,
  mode: 0o644,
  size: 3,
  hash,
  pieces: [hash],
  mtimeMs: 1_700_000_000_000,
  stat: '1.2.3',
  ...more,
})
const manifest = (...entries: Entry[]): Manifest => new Map(entries.map(entry => [entry.path, entry]))

test('a change turns one manifest into the next, also after it was serialized', () => {
  const before = manifest(file('a', 'aa'), file('b', 'bb'), { kind: 'folder', path: 'd', mode: 0o755 })
  const after = manifest(file('a', 'aa'), file('c', 'cc', { pieces: ['c1', 'c2'] }), {
    kind: 'link',
    path: 'l',
    target: 'a',
  })
  const change = changeOf(before, after)
  assert.deepEqual(change.removed, ['b', 'd'])
  assert.deepEqual(
    change.set.map(({ path }) => path),
    ['c', 'l'],
  )
  assert.deepEqual(applied(before, readChange(writeChange(change))), after)
  assert.deepEqual(piecesOf(after.values()), ['aa', 'c1', 'c2'])
  assert.deepEqual(sizeOf(after), { files: 3, bytes: 6 })
})

test('a long chain of changes, or large changes, are replaced by all entries', () => {
  const all = manifest(file('a', 'aa'), file('b', 'bb'), file('c', 'cc'), file('d', 'dd'))
  const one = manifest(...all.values(), file('e', 'ee'))
  assert.equal(storedChange(undefined, one), undefined)
  assert.deepEqual(storedChange({ manifest: all, chain: noChain }, one)?.set.length, 1)
  assert.equal(storedChange({ manifest: all, chain: { rows: 50, entries: 1 } }, one), undefined)
  assert.equal(storedChange({ manifest: all, chain: { rows: 2, entries: 5 } }, one), undefined)
})

test('a touched file is unchanged, one with another mode is changed', () => {
  assert.ok(isSame(file('a', 'aa'), file('a', 'aa', { stat: '9', mtimeMs: 1 })))
  assert.ok(!isSame(file('a', 'aa'), file('a', 'aa', { mode: 0o755 })))
  assert.ok(!isSame(file('a', 'aa'), { kind: 'folder', path: 'a', mode: 0o644 }))
})

test('a stored change with a path outside of the workspace, or with other permission bits, is not used', () => {
  for (const path of ['..', '../a', 'a/../../b', '/etc/passwd', 'a//b', 'a/', './a', 'a/.', '', 'a\0b'])
    for (const entry of [file(path, 'aa'), { kind: 'folder', path, mode: 0o755 } as const, link(path)])
      assert.throws(() => readChange(writeChange({ set: [entry], removed: [] })), /unusable path/, path)
  const names = ['.a', '..a', 'a..', 'a/..b', '...', 'a b', '\\..\\a']
  const { set } = readChange(writeChange({ set: names.map(name => file(name, 'aa', { mode: 0o104755 })), removed: [] }))
  assert.deepEqual(
    set,
    names.map(name => file(name, 'aa', { mode: 0o755 })),
  )
})

const link = (path: string): Entry => ({ kind: 'link', path, target: 'a' })
