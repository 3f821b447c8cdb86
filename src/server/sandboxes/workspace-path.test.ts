import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../platform/errors.ts'
import { workspaceNames } from './workspace-path.ts'

const inside: [path: string, names: string][] = [
  ['a', 'a'],
  ['./a', 'a'],
  ['a/b/c.txt', 'a/b/c.txt'],
  ['a//b', 'a/b'],
  ['a/./b', 'a/b'],
  ['a/', 'a'],
  ['a/../b', 'b'],
  ['a/b/../../c', 'c'],
  ['.', ''],
  ['./', ''],
  ['a/..', ''],
  ['/data', ''],
  ['/data/', ''],
  ['/data/.', ''],
  ['/data/a', 'a'],
  ['//data/a', 'a'],
  ['/data//a', 'a'],
  ['/data/a/../b', 'b'],
  ['/data2/../data/a', 'a'],
  ['../data/a', 'a'],
  ['/../data/a', 'a'],
  ['data/a', 'data/a'],
  ['...', '...'],
  ['..a', '..a'],
  ['a..', 'a..'],
  ['a/...b', 'a/...b'],
  ['.env', '.env'],
  ['%2e%2e/a', '%2e%2e/a'],
  ['%2e%2e%2fa', '%2e%2e%2fa'],
  ['..%2fa', '..%2fa'],
  ['a\\..\\b', 'a\\..\\b'],
  ['C:\\a', 'C:\\a'],
  ['file:', 'file:'],
  ['a~', 'a~'],
  ['a/~', 'a/~'],
  ['-rf', '-rf'],
  ['a b\nc', 'a b\nc'],
  ['\u2025/a', '\u2025/a'],
  ['\uff0e\uff0e/a', '\uff0e\uff0e/a'],
]

const outside = [
  '',
  '..',
  '../',
  '../a',
  '../../a',
  './../a',
  'a/../..',
  'a/../../a',
  'a/b/../../../c',
  '/',
  '/a',
  '/data2',
  '/data2/a',
  '/data2/../data2/a',
  '/database',
  '/data/..',
  '/data/../a',
  '/data/../data2/a',
  '/data/a/../../b',
  '//data2/a',
  '/DATA/a',
  '/etc/passwd',
  '/proc/self/environ',
  '../data2/a',
  '../data2',
  '~',
  '~/a',
  '~root/a',
  'a\0',
  '\0',
  '/data/a\0/../../b',
  `a/${'b'.repeat(5000)}`,
]

for (const [path, names] of inside) {
  test(`S34: ${JSON.stringify(path)} is inside`, () => assert.equal(workspaceNames(path, '/data').join('/'), names))
}

for (const path of outside) {
  test(`S34: ${JSON.stringify(path.slice(0, 60))} is rejected`, () => {
    assert.throws(() => workspaceNames(path, '/data'), AppError)
  })
}
