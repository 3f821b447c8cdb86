import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEntry } from '../../src/contract/audit.ts'
import type { AgentRuntime } from '../../src/contract/runtimes.ts'
import { send } from '../support/service/send.ts'
import { type Service, startService } from '../support/service/service.ts'

const settings = { trust_proxy: ['127.0.0.0/8'] }
const [direct, proxied, open] = await Promise.all([
  startService(),
  startService({
    config: JSON.stringify({ general_settings: { ...settings, public_url: 'https://switchyard.example/' } }),
  }),
  startService({ key: null, config: JSON.stringify({ general_settings: settings }) }),
])

const forwarded = { 'x-forwarded-for': '127.0.0.1, 203.0.113.9' }

async function auditedAddress(service: Service): Promise<string | null | undefined> {
  const headers = { ...forwarded, authorization: `Bearer ${service.key}` }
  const body = { name: 'A', owner_id: 'team' }
  assert.equal((await send(service, 'POST /api/agents', { headers, body })).status, 201)
  const { entries } = (await send(service, 'GET /api/audit?action=agent.create')).json<{ entries: AuditEntry[] }>()
  return entries[0]?.address
}

test('D8: the audit log has the address of the client behind a trusted proxy', async () => {
  assert.equal(await auditedAddress(proxied), '203.0.113.9')
})

test('D8, S56: without trust_proxy a forwarded address does not count', async () => {
  assert.equal(await auditedAddress(direct), '127.0.0.1')
})

test('D8: failed logins count against the client behind a trusted proxy, not against the proxy', async () => {
  const attempt = async (address: string) => {
    const headers = { authorization: 'Bearer wrong', 'x-forwarded-for': address }
    return (await send(proxied, 'GET /api/agents', { headers })).status
  }
  const statuses = new Set<number>()
  for (let count = 0; count < 1_300 && !statuses.has(429); count++) statuses.add(await attempt('198.51.100.66'))
  assert.deepEqual([...statuses], [401, 429])
  assert.equal(await attempt('198.51.100.67'), 401)
})

test('D8: the record of the runtime builtin has the public address, by default where the service listens', async () => {
  const addresses = async (service: Service) => {
    const answer = await send(service, 'GET /api/agent-runtimes')
    const own = answer.json<{ runtimes: AgentRuntime[] }>().runtimes.find(({ id }) => id === 'builtin')
    return [own?.api_base, own?.default_api_base].map(url => new URL(url ?? '').href)
  }
  assert.deepEqual(await addresses(proxied), Array(2).fill('https://switchyard.example/'))
  const { port } = new URL(direct.url)
  for (const url of await addresses(direct)) assert.equal(new URL(url).port, port)
})

test('D8, S56: without a key no forwarded header makes a request count as one of this machine', async () => {
  const statusOf = async (headers: Record<string, string>) =>
    (await send(open, 'GET /api/agents', { headers: { ...headers } })).status
  assert.equal(await statusOf({}), 200)
  assert.equal(await statusOf({ host: 'switchyard.example' }), 403)
  const claims = {
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': 'localhost',
    forwarded: 'for=127.0.0.1;host=localhost',
  }
  assert.equal(await statusOf({ host: 'switchyard.example', ...claims }), 403)
  assert.equal(await statusOf({ origin: 'https://evil.example', ...claims }), 403)
})
