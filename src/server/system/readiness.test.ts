import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { DatabaseUnavailable } from '../platform/errors.ts'
import { databaseCheck, folderCheck } from './checks.ts'
import { createReadiness } from './readiness.ts'

test('H6: checks run at most every 2 s, and never concurrently', async () => {
  let now = 0
  let runs = 0
  const first = Promise.withResolvers<string | undefined>()
  const check = () => (++runs === 1 ? first.promise : Promise.resolve(undefined))
  const readiness = createReadiness([check, async () => undefined], () => now)
  const [one, two] = [readiness.reasons(), readiness.reasons()]
  first.resolve('the disk is full')
  assert.deepEqual([await one, await two, runs], [['the disk is full'], ['the disk is full'], 1])
  now = 1_999
  assert.deepEqual(await readiness.reasons(), ['the disk is full'])
  now = 2_000
  assert.deepEqual([await readiness.reasons(), runs], [[], 2])
  readiness.leave()
  assert.deepEqual(await readiness.reasons(), ['process is stopping'])
})

test('V7: the reason states why the database cannot write', async () => {
  const failing = (code: string) =>
    databaseCheck(() => Promise.reject(new DatabaseUnavailable('unreachable', stateError(code))))
  const stateError = (code: string) => Object.assign(new Error('refused'), { code })
  assert.equal(await failing('25006')(), 'database is read-only')
  assert.equal(await failing('53100')(), 'disk of the database is full')
  assert.equal(await failing('ECONNREFUSED')(), 'database does not respond')
  assert.equal(await databaseCheck(async () => undefined)(), undefined)
})

test('H6: the folder check leaves no file behind', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-check-'))
  assert.equal(await folderCheck(folder)(), undefined)
  assert.deepEqual(await readdir(folder), [])
  await rm(folder, { recursive: true })
  assert.equal(await folderCheck(folder)(), 'cannot write to the data folder: folder does not exist')
})
