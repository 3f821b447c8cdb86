import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { temporaryFolder } from '../support/data-folder.ts'
import { freshDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { bash, configFor, saying } from '../support/scripted-service.ts'
import { startScriptedUpstream } from '../support/scripted-upstream.ts'
import { send } from '../support/send.ts'
import { type Service, startService } from '../support/service.ts'

const text = 'another replica runs sessions with another data folder'
const upstream = await startScriptedUpstream()
const stops: (() => Promise<unknown>)[] = []
after(async () => {
  for (const stop of stops) await stop()
  await upstream.stop()
})

/** Starts one replica after the other; with `dataDir` they share it. */
async function replicas(dataDir?: string): Promise<() => Promise<Service>> {
  const { url: databaseUrl } = await freshDatabase()
  return async () => {
    const config = configFor(upstream)
    const service = await startService({ databaseUrl, config, ...(dataDir !== undefined && { dataDir }) })
    stops.push(service.stop)
    return service
  }
}

async function warningsOf(service: Service): Promise<readonly string[] | undefined> {
  const { status, text } = await send(service, 'GET /health/ready')
  assert.equal(status, 200)
  return (JSON.parse(text) as { warnings?: string[] }).warnings
}

const prompt = saying(bash('echo kept >> kept.txt; cat kept.txt'), { text: 'Done.' })

async function logOf(service: Service, id: string): Promise<SessionEvent[]> {
  const path = `GET /v1/sessions/${id}/events?limit=1000`
  return (await send(service, path)).json<{ data: SessionEvent[] }>().data
}

/** Prompts the session and waits for its end, the `times`th in its log. */
async function speak(service: Service, id: string, times: number): Promise<void> {
  const body = { model: { modelID: 'scripted' }, parts: [{ type: 'text', text: prompt }] }
  const { status, text } = await send(service, `POST /session/${id}/prompt_async`, { body })
  assert.ok(status < 300, text)
  await eventually(async () => {
    const log = await logOf(service, id)
    return log.filter(({ type }) => type === 'session.status_idle').length === times
  })
}

/** The session, after its tool has run at the only replica there is. */
async function begun(service: Service): Promise<string> {
  const { id } = (await send(service, 'POST /session', { body: {} })).json<Session>()
  await speak(service, id, 1)
  return id
}

/** The types of the warnings of a session that goes on with two more prompts. */
async function warningsAfterMove(service: Service, id: string): Promise<unknown[]> {
  await speak(service, id, 2)
  await speak(service, id, 3)
  const log = await logOf(service, id)
  return log
    .filter(({ type }) => type === 'session.warning')
    .map(event => (event['warning'] as { readonly type: string }).type)
}

test('V9: replicas with different data folders say so in readiness and once in the log; a session that moves is warned once', async () => {
  const start = await replicas()
  const one = await start()
  const id = await begun(one)
  assert.equal(await warningsOf(one), undefined)
  const other = await start()
  for (const service of [one, other]) {
    const warnings = await eventually(() => warningsOf(service), { withinMs: 60_000 })
    assert.equal(warnings.length, 1)
    assert.ok(warnings[0]?.startsWith(text))
    assert.ok(!warnings[0]?.includes(one.dataDir) && !warnings[0]?.includes(other.dataDir))
  }
  const linesOf = ({ logs }: Service) => logs().split(text).length - 1
  assert.deepEqual([one, other].map(linesOf), [1, 1])
  await one.stop()
  assert.deepEqual(await warningsAfterMove(other, id), ['workspace_elsewhere'])
  await eventually(async () => (await warningsOf(other)) === undefined, { withinMs: 60_000 })
  assert.equal(linesOf(other), 1)
})

test('V9: replicas that share their data folder say nothing of the kind', async () => {
  const start = await replicas(temporaryFolder())
  const one = await start()
  const id = await begun(one)
  const other = await start()
  await one.stop()
  assert.deepEqual(await warningsAfterMove(other, id), [])
  assert.equal(await warningsOf(other), undefined)
  for (const { logs } of [one, other]) assert.ok(!logs().includes(text))
})
