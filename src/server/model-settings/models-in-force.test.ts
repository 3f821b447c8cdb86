import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/support/service/eventually.ts'
import { createLog } from '../platform/log.ts'
import type { BaseConfig, Stored } from './in-force.ts'
import { createModelsInForce } from './models-in-force.ts'
import type { StoredCredential } from './stored-settings.ts'

const config: BaseConfig = { deployments: [], modelsFrom: 'file', environmentKeys: {}, demo: true, outboundAllow: [] }
const openai: StoredCredential = {
  provider: 'openai',
  apiBase: 'https://api.openai.com/v1',
  masked: '…',
  updatedAt: new Date(0),
  params: { api_key: 'sk-0123456789', api_base: 'https://api.openai.com/v1' },
  problem: undefined,
}
const nothing: Stored = { credentials: [], models: [] }
const something: Stored = { credentials: [openai], models: [] }

/** Active models over a fake database. */
function follower({ pollMs = 60_000 } = {}) {
  const database = { stored: nothing, version: 1, isUnreachable: false, reads: 0 }
  const listeners = new Map<string, () => void>()
  const applied: number[] = []
  const inForce = createModelsInForce({
    config,
    async read() {
      database.reads++
      return database.stored
    },
    async version() {
      if (database.isUnreachable) throw new Error('unreachable')
      return String(database.version)
    },
    channel: 'models',
    notifications: {
      on: (channel, listener) => void listeners.set(channel, () => listener('')),
      onReconnect: listener => void listeners.set('reconnect', listener),
    },
    apply: deployments => void applied.push(deployments.length),
    log: createLog('silent'),
    pollMs,
  })
  const store = (stored: Stored) => Object.assign(database, { stored, version: database.version + 1 })
  return { database, inForce, applied, store, hint: (name = 'models') => listeners.get(name)?.() }
}

for (const [name, pollMs, hint] of [
  ['a notification', 60_000, 'models'],
  ['a reconnect', 60_000, 'reconnect'],
  ['the poll, if notifications are lost', 5, undefined],
] as const) {
  test(`a change is applied after ${name}`, async () => {
    const app = follower({ pollMs })
    await app.inForce.start()
    app.store(something)
    if (hint) app.hint(hint)
    await eventually(() => app.applied.at(-1) === 1)
    await app.inForce.stop()
    assert.equal(app.inForce.now.deployments[0]?.alias, 'openai/*')
  })
}

test('unchanged settings are neither read nor applied again', async () => {
  const app = follower()
  await app.inForce.refresh()
  const reads = app.database.reads
  await app.inForce.refresh()
  assert.equal(app.database.reads, reads)
  assert.equal(app.applied.length, 1)
})

test('while the database is unreachable the last settings stay active, even across a changed configuration', async () => {
  const app = follower()
  app.store(something)
  await app.inForce.start()
  app.database.isUnreachable = true
  await assert.rejects(app.inForce.refresh())
  app.hint()
  const deployments = app.inForce.take({ ...config, demo: false })
  await app.inForce.stop()
  assert.deepEqual(
    deployments.map(({ alias }) => alias),
    ['openai/*'],
  )
})

test('the start succeeds without the database, and applies stored settings once it is reachable', async () => {
  const app = follower({ pollMs: 5 })
  app.store(something)
  app.database.isUnreachable = true
  await app.inForce.start()
  assert.deepEqual(app.inForce.now.deployments, [])
  app.database.isUnreachable = false
  await eventually(() => app.inForce.now.deployments.length === 1)
  await app.inForce.stop()
})

test('a refresh during another one applies everything stored before it', async () => {
  const app = follower()
  const first = app.inForce.refresh()
  app.store(something)
  await Promise.all([first, app.inForce.refresh(), app.inForce.refresh()])
  assert.equal(app.inForce.now.deployments.length, 1)
})
