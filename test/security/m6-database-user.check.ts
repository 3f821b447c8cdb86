import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startService } from '../support/service/service.ts'

const service = await startService({ databaseUrl: '' })
after(() => service.stop())
const cluster = join(service.dataDir, 'postgres')
const server = Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0])
const { uid } = statSync(`/proc/${server}`)
const isRoot = process.getuid?.() === 0
const nobody = Number(execFileSync('id', ['-u', 'nobody']))

test('the server runs as the owner of its files, and not as root', () => {
  assert.equal(statSync(cluster).uid, uid)
  assert.notEqual(uid, 0)
})

test('nobody and the sandboxes have another user', () => {
  assert.ok(![nobody, 65_533, 65_534].includes(uid), String(uid))
})

test('a service that runs as nobody can neither read its files nor signal it', () => {
  if (!isRoot) return assert.equal(uid, process.getuid?.(), 'without root the service has no other user to choose')
  const asNobody = (...command: string[]) =>
    spawnSync('setpriv', [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', '--', ...command])
  assert.notEqual(asNobody('cat', join(cluster, 'PG_VERSION')).status, 0)
  assert.notEqual(asNobody('kill', '-0', String(server)).status, 0)
  assert.equal(asNobody('true').status, 0)
})
