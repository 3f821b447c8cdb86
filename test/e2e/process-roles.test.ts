import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Session } from '../../src/contract/sessions.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const { url: databaseUrl } = await freshDatabase()
const api = await startService({ databaseUrl, env: { SWITCHYARD_ROLE: 'api' } })
after(() => api.stop())

const statusOf = async (id: string) => (await send(api, `GET /session/${id}`)).json<Session>().status

test('a process of the role api accepts prompts and runs no session; one of the role worker runs them', async () => {
  const body = { prompt: 'List the folder' }
  const { id } = (await send(api, 'POST /session', { body })).json<Session>()
  // Longer than the 5 s between two polls for sessions.
  await new Promise(resolve => setTimeout(resolve, 6_000))
  assert.equal(await statusOf(id), 'pending')
  const worker = await startService({ databaseUrl, env: { SWITCHYARD_ROLE: 'worker' } })
  try {
    await eventually(async () => (await statusOf(id)) === 'idle')
  } finally {
    await worker.stop()
  }
})

test('a process of the role worker serves health and metrics, and names the role and the way out', async () => {
  const worker = await startService({ databaseUrl, env: { SWITCHYARD_ROLE: 'worker' } })
  try {
    for (const path of ['/health', '/health/live', '/health/ready', '/health/readiness']) {
      assert.equal((await send(worker, `GET ${path}`)).status, 200, path)
    }
    const message =
      /this process has the role \\?"worker\\?" and serves only \/health and \/metrics; send the request to a process with SWITCHYARD_ROLE api or all/
    for (const line of [
      'GET /api/agents',
      'POST /v1/messages',
      'POST /session',
      'GET /docs',
      'GET /openapi.json',
      'GET /',
      'GET /console/agents',
    ]) {
      const answer = await send(worker, line, line.startsWith('POST') ? { body: {} } : {})
      assert.deepEqual([answer.status, message.test(answer.text)], [404, true], `${line}: ${answer.text}`)
    }
    const unknown = { url: worker.url }
    for (const line of ['GET /api/agents', 'GET /v1/models', 'GET /api/no-such-thing']) {
      assert.equal((await send(unknown, line)).status, 401, line)
    }
  } finally {
    await worker.stop()
  }
})
