import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { RegisteredServer } from '../registry/server.ts'
import { createMcpClient } from './client.ts'
import type { UpstreamAnswer, UpstreamRequest } from './upstream.ts'

const server = { server_id: 'mcp_1', server_name: 's', url: 'https://example.com/mcp', version: 1 } as RegisteredServer
const never = new AbortController().signal

/** A client of a server whose answers are those of `answer`, 20 ms later. Lists the methods that reached the server. */
function clientOf(answer: (method: string) => { readonly status?: number; readonly result?: object }) {
  const methods: string[] = []
  const client = createMcpClient({
    upstream: {
      async exchange(_server, { body }: UpstreamRequest): Promise<UpstreamAnswer> {
        const { id, method } = JSON.parse(String(body)) as { id: number; method: string }
        methods.push(method)
        await setTimeout(20)
        const { status = 200, result } = answer(method)
        const text = JSON.stringify({ jsonrpc: '2.0', id, result })
        return { status, contentType: 'application/json', headers: {}, body: Readable.from([text]), scrub: t => t }
      },
    },
    knownEra: async () => undefined,
    nowMs: Date.now,
  })
  after(() => client.close())
  return { client, methods }
}

const modern = { result: { supportedVersions: ['2026-07-28'] } }

test('concurrent first calls of a server share one detection of its era, and later calls need none', async () => {
  const { client, methods } = clientOf(() => modern)
  const eras = await Promise.all(Array.from({ length: 10 }, () => client.eraOf(server, 'ana', never)))
  assert.deepEqual([new Set(eras), methods], [new Set(['modern']), ['server/discover']])
  assert.equal(await client.eraOf(server, 'bo', never), 'modern')
  assert.equal(methods.length, 1)
})

test('a failed detection fails the calls that wait for it, and the next call detects again', async () => {
  let isUp = false
  const { client, methods } = clientOf(() => (isUp ? modern : { status: 500 }))
  const failures = await Promise.allSettled([1, 2, 3].map(() => client.eraOf(server, 'ana', never)))
  assert.ok(failures.every(({ status }) => status === 'rejected'))
  const before = methods.length
  isUp = true
  assert.equal(await client.eraOf(server, 'ana', never), 'modern')
  assert.equal(methods.length, before + 1)
  assert.equal(methods.filter(method => method === 'server/discover').length, 2)
})

test('a caller that leaves does not cancel the detection of the others', async () => {
  const { client, methods } = clientOf(() => modern)
  const leaving = new AbortController()
  const first = client.eraOf(server, 'ana', leaving.signal)
  const second = client.eraOf(server, 'ana', never)
  const reason = new Error('left')
  const failed = assert.rejects(first, reason)
  leaving.abort(reason)
  await failed
  assert.deepEqual([await second, methods], ['modern', ['server/discover']])
})
