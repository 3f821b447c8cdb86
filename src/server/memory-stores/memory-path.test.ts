import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkMemoryPath, mountPathOf } from './memory-path.ts'

for (const path of ['/a', '/projects/foo/notes.md', '/Ünïcode', `/${'a/'.repeat(19)}b`])
  test(`${path.slice(0, 30)} is the path of a memory`, () => checkMemoryPath(path, 'path'))

for (const [path, words] of [
  ['notes.md', /^path must begin with \/$/],
  ['/', /no segment that is empty/],
  ['/a//b', /no segment that is empty/],
  ['/a/', /no segment that is empty/],
  ['/../etc/passwd', /no segment that is empty, \. or \.\./],
  ['/a/./b', /no segment/],
  [`/${'a/'.repeat(20)}b`, /at most 20 segments/],
  [`/${'ä'.repeat(600)}`, /at most 1024 bytes/],
  ['/a\nb', /control or format characters/],
  ['/a\u202eb', /control or format characters/],
  ['/e\u0301', /Normalization Form C/],
] as const)
  test(`${JSON.stringify(path).slice(0, 30)} is no path of a memory`, () => {
    assert.throws(() => checkMemoryPath(path, 'path'), { code: 'invalid_request', message: words })
  })

test('the folder of a store is made of its name, and is different for each store of a session', () => {
  const taken = new Set<string>()
  const folders = ['Team Style!', 'team style', '--team--style--', '日本'].map(name => {
    const folder = mountPathOf(name, taken)
    taken.add(folder)
    return folder
  })
  assert.deepEqual(folders, [
    '/mnt/memory/team-style',
    '/mnt/memory/team-style-2',
    '/mnt/memory/team-style-3',
    '/mnt/memory/store',
  ])
})
