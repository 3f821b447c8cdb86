import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createServerCache } from './server-cache.ts'
import type { ServerRow } from './store.ts'

const row = (server_id: string, server_name: string, alias: string | null = null) =>
  ({ server_id, server_name, alias }) as ServerRow

function setUp(rows: ServerRow[]) {
  const listeners: (() => void)[] = []
  const reads = { lists: 0, finds: 0 }
  const clock = { ms: 0 }
  const cache = createServerCache({
    store: {
      async list() {
        reads.lists++
        return [...rows]
      },
      async find(name) {
        reads.finds++
        return rows.find(each => each.server_name === name)
      },
    },
    notifications: {
      on: (_channel, listener) => void listeners.push(() => listener('')),
      onReconnect: listener => void listeners.push(listener),
    },
    nowMs: () => clock.ms,
  })
  return { cache, listeners, reads, clock }
}

test('known servers cost one read; an id has precedence over a name, a name over an alias', async () => {
  const { cache, reads } = setUp([row('mcp_1', 'a', 'mcp_2'), row('mcp_2', 'b', 'a')])
  assert.equal((await cache.find('mcp_2'))?.server_name, 'b')
  assert.equal((await cache.find('a'))?.server_id, 'mcp_1')
  assert.equal((await cache.find('b'))?.server_id, 'mcp_2')
  assert.deepEqual(reads, { lists: 1, finds: 0 })
})

test('a server that another replica has just created is found; a change and a reconnect clear the rows', async () => {
  const rows = [row('mcp_1', 'a')]
  const { cache, listeners, reads, clock } = setUp(rows)
  await cache.list()
  rows.push(row('mcp_2', 'b'))
  assert.equal((await cache.find('b'))?.server_id, 'mcp_2')
  assert.deepEqual(reads, { lists: 1, finds: 1 })
  for (const [at, notify] of listeners.entries()) {
    notify()
    assert.equal((await cache.list()).length, 2)
    assert.equal(reads.lists, at + 2)
  }
  clock.ms = 6_000
  await cache.list()
  assert.equal(reads.lists, 4, 'a lost notification')
})

test('a failed read is not cached', async () => {
  let isFailing = true
  const cache = createServerCache({
    store: {
      list: async () => {
        if (isFailing) throw new Error('unreachable')
        return []
      },
      find: async () => undefined,
    },
    notifications: { on: () => undefined, onReconnect: () => undefined },
    nowMs: () => 0,
  })
  await assert.rejects(cache.list())
  isFailing = false
  assert.deepEqual(await cache.list(), [])
})
