import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { route } from '../../contract/route.ts'
import type { Log } from '../platform/log.ts'
import { bind } from './bind.ts'
import { masterCaller } from './caller.ts'
import { createServer } from './server.ts'
import { serveAsWorker } from './worker-role.ts'

const base = {
  method: 'GET',
  access: 'key',
  errorShape: 'nested',
  responses: { 200: Type.Object({}) },
  summary: 'A',
  description: 'B',
} as const
const work = route({ ...base, id: 'test.work', path: '/api/work' })
const health = route({ ...base, id: 'test.health', path: '/health', isOnWorkers: true })

test('a worker serves only marked routes, except to programs that it runs', async () => {
  const write = () => {}
  const log = { error: write, warn: write, fatal: write } as unknown as Log
  const app = createServer({ authenticate: () => masterCaller, log })
  serveAsWorker(app, { isFromProgram: ({ headers }) => headers['x-from-program'] === 'yes' })
  for (const each of [work, health]) bind(app, each, async () => ({}))
  const statusOf = async (url: string, headers = {}) => (await app.inject({ url, headers })).statusCode
  assert.equal(await statusOf('/health'), 200)
  assert.equal(await statusOf('/api/work'), 404)
  assert.equal(await statusOf('/api/work', { 'x-from-program': 'yes' }), 200)
  const { error } = (await app.inject('/api/work')).json<{ error: { message: string } }>()
  assert.match(
    error.message,
    /role "worker" and serves only \/health and \/metrics; send the request to a process with SWITCHYARD_ROLE api or all/,
  )
  await app.close()
})
