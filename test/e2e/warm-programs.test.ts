import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Approval } from '../../src/contract/approvals.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { doing, fakeProgram } from '../support/acp/acp-rig.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { lack } from '../support/service/lack.ts'
import { send, type Target } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { configFor } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const skip = lack('bubblewrap')
const upstream = await startScriptedUpstream()
const { pool, url: databaseUrl } = await freshDatabase()
const harness = { alias: 'fake', api_spec: 'acp', command: ['node', fakeProgram] }
const config = JSON.stringify({ ...JSON.parse(configFor(upstream)), runtime_harnesses: [harness] })
/** Only this one runs sessions until another is started. */
let owner = await startService({ databaseUrl, config })
const front = await startService({ databaseUrl, config, env: { SWITCHYARD_ROLE: 'api' } })
after(async () => {
  await Promise.all([owner.stop(), front.stop(), upstream.stop()])
})

async function ok<T>(line: string, body?: unknown, target: Target = front): Promise<T> {
  const answer = await send(target, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}

const question = { toolCallId: 'c1', kind: 'execute', title: 'rm -rf build', rawInput: { command: 'rm -rf build' } }
const askable = { permission_policy: { type: 'always_ask' } }
let agentId = ''
before(async () => {
  const agent = { name: 'Asks', owner_id: 'team', runtime: 'fake', model: 'scripted', tools: { bash: askable } }
  agentId = (await ok<{ id: string }>('POST /api/agents', agent)).id
})

const logOf = async (id: string) =>
  (await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?limit=1000`)).data
const statusOf = async (id: string) => (await ok<Session>(`GET /session/${id}`)).status

/** A session whose program has asked, and which has given up its lease. */
async function waitingSession() {
  const { id } = await ok<Session>('POST /session', { agent_id: agentId })
  const text = doing({ ask: question }, { say: 'went on' }, { stop: 'end_turn' })
  await ok(`POST /session/${id}/prompt_async`, { model: { modelID: 'scripted' }, parts: [{ type: 'text', text }] })
  const approval = await eventually(async () => {
    const { approvals } = await ok<{ approvals: Approval[] }>(`GET /api/approvals?session_id=${id}&state=pending`)
    return approvals[0]
  })
  const warm = await eventually(async () => {
    const row = await rowOf(id)
    return row.lease_owner === null && row.warm_owner !== null && row
  })
  return { id, approval, warm }
}

interface Row {
  readonly lease_owner: string | null
  readonly warm_owner: string | null
  readonly sandbox_status: string
}
async function rowOf(id: string): Promise<Row> {
  const text = 'select lease_owner, warm_owner, sandbox_status from sessions where id = $1'
  const { rows } = await pool.query<Row>(text, [id])
  return rows[0] ?? assert.fail('no such session')
}

const answerOf = (log: readonly SessionEvent[]) =>
  log
    .filter(({ type }) => type === 'agent.message')
    .flatMap(({ content }) => content as { text: string }[])
    .map(({ text }) => text)
    .join('')

test('a program that asks waits without a lease, and continues with the answer where it stood', { skip }, async () => {
  const { id, approval, warm } = await waitingSession()
  assert.equal(warm.sandbox_status, 'running')
  assert.equal(await statusOf(id), 'idle')
  await ok(`POST /api/approvals/${approval.id}`, { result: 'allow' })
  await eventually(async () => (await logOf(id)).at(-1)?.stop_reason?.['type' as never] === 'end_turn')
  const log = await logOf(id)
  assert.match(answerOf(log), /went on$/)
  assert.equal(log.filter(({ type }) => type === 'agent.tool_use').length, 1)
  // The files are stored before the lease ends.
  await eventually(async () => (await rowOf(id)).lease_owner === null)
  assert.deepEqual(await rowOf(id), { lease_owner: null, warm_owner: null, sandbox_status: 'stopped' })
})

test('a run that waits without a lease can be stopped, and its session deleted', { skip }, async () => {
  const stopped = await waitingSession()
  await ok(`POST /session/${stopped.id}/abort`)
  await eventually(async () => JSON.stringify((await logOf(stopped.id)).at(-1)).includes('"interrupted"'))
  await eventually(async () => (await rowOf(stopped.id)).lease_owner === null)
  assert.equal((await rowOf(stopped.id)).warm_owner, null)
  const deleted = await waitingSession()
  await ok(`DELETE /api/v1/managed_agents/sessions/${deleted.id}`)
  await eventually(async () => (await rowOf(deleted.id)).sandbox_status === 'dead')
})

test('when the process with the program is killed, another one takes the session once the answer is there', {
  skip,
}, async () => {
  const { id, approval } = await waitingSession()
  await owner.kill()
  owner = await startService({ databaseUrl, config })
  await ok(`POST /api/approvals/${approval.id}`, { result: 'allow' })
  const results = await eventually(async () => {
    const found = (await logOf(id)).filter(({ type }) => type === 'agent.tool_result')
    return found.length > 0 && found
  })
  assert.match(JSON.stringify(results[0]), /outcome of the call is unknown/)
})
