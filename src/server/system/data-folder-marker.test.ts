import assert from 'node:assert/strict'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/support/service/data-folder.ts'
import { folderIdOf } from './data-folder-marker.ts'

function marking(folder = join(temporaryFolder(), 'workspaces')) {
  const lines: string[] = []
  const log = { warn: (...parts: unknown[]) => void lines.push(String(parts.at(-1))) }
  return { folder, lines, id: () => folderIdOf(folder, log) }
}

test('V9: processes that mark one folder concurrently get the same id and leave one file', async () => {
  const { folder, lines, id } = marking()
  const ids = await Promise.all(Array.from({ length: 20 }, id))
  assert.equal(new Set(ids).size, 1)
  assert.match(ids[0] ?? '', /^[0-9a-f-]{36}$/)
  assert.equal(await id(), ids[0])
  assert.deepEqual([readdirSync(folder), lines], [['.folder-id'], []])
})

test('V9: two folders have two ids, and an emptied folder gets a new one', async () => {
  const [one, other] = [marking(), marking()]
  const first = await one.id()
  assert.notEqual(await other.id(), first)
  rmSync(one.folder, { recursive: true })
  assert.notEqual(await one.id(), first)
})

test('V9: an unwritable or damaged id file does not prevent the start', async () => {
  const damaged = marking(temporaryFolder())
  writeFileSync(join(damaged.folder, '.folder-id'), 'x')
  assert.equal(await damaged.id(), undefined)
  assert.match(damaged.lines.join(), /^id file of the data folder is damaged; delete it/)
  const file = join(temporaryFolder(), 'file')
  writeFileSync(file, '')
  const unmarkable = marking(join(file, 'workspaces'))
  assert.equal(await unmarkable.id(), undefined)
  assert.match(unmarkable.lines.join(), /^could not write the id file of the data folder/)
})
