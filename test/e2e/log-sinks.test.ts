import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { LogSinkState } from '../../src/contract/log-sinks.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, type Target } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { startWebhookReceiver } from '../support/triggers/webhook-receiver.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

interface Line {
  readonly id: string
  readonly type: string
  readonly request_id: string
  readonly model: string
  readonly [field: string]: unknown
}

const folder = mkdtempSync(join(tmpdir(), 'switchyard-sinks-'))
after(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'calls.jsonl')
let isHanging = false
const http = await startWebhookReceiver(() => (isHanging ? 'hang' : 200))
const otlp = await startWebhookReceiver()
const dead = await startWebhookReceiver(() => ({ status: 302, location: 'http://127.0.0.1:1/' }))
const upstream = await startScriptedUpstream({ script: [{ text: 'fine' }] })
after(() => upstream.stop())
const { url: databaseUrl, pool } = await freshDatabase()

const soon = new Date(Date.now() + 3_600_000).toISOString()
const config = JSON.stringify({
  model_list: [
    { model_name: 'scripted', params: { model: 'anthropic/scripted', api_base: upstream.url, api_key: 'sk-upstream' } },
  ],
  outbound: { allow: [new URL(upstream.url).host, http.host, otlp.host, dead.host] },
  log_sinks: [
    { name: 'disk', type: 'file', path, bodies_until: soon },
    { name: 'lines', type: 'http', url: http.url, format: 'jsonl', bearer: 'os.environ/SINK_TOKEN' },
    { name: 'otel', type: 'otlp', url: otlp.url, bearer_vault_key: 'otel-token' },
    { name: 'dead', type: 'http', url: dead.url },
    { name: 'inner', type: 'http', url: 'http://169.254.169.254/latest' },
  ],
})
const env = { SINK_TOKEN: 'token-of-the-environment' }
const start = () => startService({ databaseUrl, config, env })

async function callBy(target: Target): Promise<string> {
  const body = { model: 'scripted', max_tokens: 5, messages: [{ role: 'user', content: 'my sk-secret-0123456789ab' }] }
  const answer = await send(target, 'POST /v1/messages', { body })
  assert.equal(answer.status, 200, answer.text)
  return String(answer.headers['x-switchyard-request-id'])
}

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as Line)
/** Of the sink that writes a file; empty before its first write. */
const inFile = (): Line[] => (existsSync(path) ? linesOf(readFileSync(path, 'utf8')) : [])
const atHttp = (): Line[] => http.accepted.flatMap(({ text }) => linesOf(text))
const statesOf = async (target: Target) =>
  (await send(target, 'GET /api/log-sinks')).json<{ log_sinks: LogSinkState[] }>().log_sinks

test('each sink gets every call with its own credentials, and a dead one shows its lag', async () => {
  const service = await start()
  try {
    const holder = await holderOf(service, { log_bodies: { until: soon } })
    const id = await callBy(holder)
    await eventually(() => atHttp().some(({ request_id }) => request_id === id))
    const [got] = http.accepted
    assert.equal(got?.headers.authorization, 'Bearer token-of-the-environment')
    assert.equal(got?.headers['content-type'], 'application/x-ndjson')
    const line = atHttp().find(({ request_id }) => request_id === id)
    assert.deepEqual(
      [line?.type, line?.model, line?.['key_id'], line?.['outcome']],
      ['call', 'scripted', holder.id, 'completed'],
    )

    const written = await eventually(() => {
      const lines = inFile()
      return lines.length === 2 && lines
    })
    assert.deepEqual(written.map(({ type }) => type).toSorted(), ['bodies', 'call'])
    const text = readFileSync(path, 'utf8')
    assert.match(text, /\[secret\]/)
    assert.doesNotMatch(text, /sk-secret-0123456789ab/)

    const missing = await eventually(async () => {
      const found = (await statesOf(service)).find(({ name }) => name === 'otel')
      return found && found.last_error !== null && found
    })
    assert.match(missing.last_error ?? '', /vault entry otel-token does not exist/)
    await send(service, 'POST /api/vault', {
      body: { key: 'otel-token', value: 'token-of-the-vault', scope: 'global' },
    })
    await eventually(() => otlp.accepted.length > 0)
    assert.equal(otlp.accepted[0]?.headers.authorization, 'Bearer token-of-the-vault')
    assert.match(otlp.accepted[0]?.text ?? '', /"gen_ai.request.model"/)

    const states = await eventually(async () => {
      const found = await statesOf(service)
      return found.filter(({ attempts }) => attempts > 0).length === 2 && found
    })
    const errorOf = (name: string) => states.find(state => state.name === name)
    assert.match(errorOf('dead')?.last_error ?? '', /redirect \(status 302\), which is not followed/)
    assert.match(errorOf('inner')?.last_error ?? '', /not a public address/)
    assert.equal(errorOf('dead')?.waiting, 1)

    const { status } = await send(
      await holderOf(service, { role: 'admin', models: ['scripted'] }),
      'GET /api/log-sinks',
    )
    assert.equal(status, 403)
    const uses = (await send(service, 'GET /api/vault')).text
    assert.match(uses, /log_sinks\[\]\.bearer_vault_key/)
  } finally {
    await service.stop()
  }
})

test('kill -9 in the middle of a batch loses no row, and its records come again with the same ids', async () => {
  const before = http.requests.length
  isHanging = true
  const first = await start()
  const ids: string[] = []
  for (let at = 0; at < 5; at++) ids.push(await callBy(first))
  await eventually(() => http.requests.length > before)
  const cut = http.requests.slice(before).flatMap(({ text }) => linesOf(text))
  await first.kill()
  isHanging = false
  // As after the 30 s for which a killed process still has them.
  await pool.query('update log_sinks set claimed_until = clock_timestamp()')
  const second = await start()
  try {
    ids.push(await callBy(second))
    const has = (lines: readonly Line[]) => ids.every(id => lines.some(({ request_id }) => request_id === id))
    const lines = await eventually(() => has(atHttp()) && atHttp())
    await eventually(() => has(inFile()))
    for (const { id, request_id } of cut) assert.equal(lines.find(line => line.request_id === request_id)?.id, id)
  } finally {
    await second.stop()
  }
})
