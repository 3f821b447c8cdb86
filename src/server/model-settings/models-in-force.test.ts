import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { createLog } from '../platform/log.ts'
import type { Beside, Stored } from './in-force.ts'
import { createModelsInForce } from './models-in-force.ts'
import type { StoredCredential } from './stored-settings.ts'

const config: Beside = { deployments: [], modelsFrom: 'file', environmentKeys: {}, demo: true, outboundAllow: [] }
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

/** Models in force over a database that the test plays. */
function follower({ pollMs = 60_000 } = {}) {
  const database = { stored: nothing, version: 1, isAway: false, reads: 0 }
  const listeners = new Map<string, () => void>()
  const applied: number[] = []
  const inForce = createModelsInForce({
    config,
    async read() {
      database.reads++
      return database.stored
    },
    async version() {
      if (database.isAway) throw new Error('away')
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
  ['a hint', 60_000, 'models'],
  ['a connection that is back', 60_000, 'reconnect'],
  ['the poll, when hints are lost', 5, undefined],
] as const) {
  test(`a change is taken over by ${name}`, async () => {
    const app = follower({ pollMs })
    await app.inForce.start()
    app.store(something)
    if (hint) app.hint(hint)
    await eventually(() => app.applied.at(-1) === 1)
    await app.inForce.stop()
    assert.equal(app.inForce.now.deployments[0]?.alias, 'openai/*')
  })
}

test('while nothing has changed nothing is read or applied', async () => {
  const app = follower()
  await app.inForce.refresh()
  const reads = app.database.reads
  await app.inForce.refresh()
  assert.equal(app.database.reads, reads)
  assert.equal(app.applied.length, 1)
})

test('while the database is away what was read last stays, through a changed configuration too', async () => {
  const app = follower()
  app.store(something)
  await app.inForce.start()
  app.database.isAway = true
  await assert.rejects(app.inForce.refresh())
  app.hint()
  const deployments = app.inForce.take({ ...config, demo: false })
  await app.inForce.stop()
  assert.deepEqual(
    deployments.map(({ alias }) => alias),
    ['openai/*'],
  )
})

test('a start without the database goes on, and takes over what is stored once it is there', async () => {
  const app = follower({ pollMs: 5 })
  app.store(something)
  app.database.isAway = true
  await app.inForce.start()
  assert.deepEqual(app.inForce.now.deployments, [])
  app.database.isAway = false
  await eventually(() => app.inForce.now.deployments.length === 1)
  await app.inForce.stop()
})

test('a refresh that is asked for during another one sees what was stored before it', async () => {
  const app = follower()
  const first = app.inForce.refresh()
  app.store(something)
  await Promise.all([first, app.inForce.refresh(), app.inForce.refresh()])
  assert.equal(app.inForce.now.deployments.length, 1)
})
