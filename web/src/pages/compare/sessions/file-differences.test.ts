import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileDifferences } from './file-differences.ts'

const file = (path: string, sha256: string) => ({
  path,
  type: 'file' as const,
  size: 1,
  mode: 420,
  sha256,
  modified_at: null,
  target: null,
})
const link = (path: string, target: string) => ({ ...file(path, ''), type: 'link' as const, sha256: null, target })

test('Files with other content, and files of one session only, differ', () => {
  const found = fileDifferences(
    [file('same', '1'), file('b', '1'), file('only-a', '1')],
    [file('same', '1'), file('b', '2')],
  )
  assert.deepEqual(
    found.map(({ path, a, b }) => [path, a?.sha256, b?.sha256]),
    [
      ['b', '1', '2'],
      ['only-a', '1', undefined],
    ],
  )
})

test('Links differ by their targets', () => {
  assert.equal(fileDifferences([link('l', 'x')], [link('l', 'x')]).length, 0)
  assert.equal(fileDifferences([link('l', 'x')], [link('l', 'y')]).length, 1)
})
