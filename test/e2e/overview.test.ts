import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Overview } from '../../src/contract/console.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, type Target } from '../support/service/send.ts'
import { startScriptedRig } from '../support/sessions/scripted-rig.ts'
import { saying } from '../support/upstream/scripted-service.ts'

const rig = await startScriptedRig()
const { ok, service } = rig
const ada = await holderOf(service, { owner_id: 'ada', role: 'admin', max_budget: 1 })
const bob = await holderOf(service, { owner_id: 'bob' })

async function overviewOf(target: Target, query = ''): Promise<Overview> {
  const answer = await send(target, `GET /api/overview${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Overview>()
}

test('one request has what waits, what runs, what it costs and what failed', async () => {
  const empty = await overviewOf(service)
  assert.deepEqual(empty.readiness, { status: 'ok', reasons: [] })
  assert.deepEqual([empty.approvals, empty.failures, empty.budgets], [{ pending: 0, oldest: [] }, [], []])
  assert.deepEqual([empty.running.running_sessions, empty.spend.requests], [0, 0])

  const tools = [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }]
  const { id: agent_id } = await ok<Agent>('POST /api/agents', {
    name: 'Asks',
    owner_id: 'ada',
    model: 'scripted',
    tools,
  })
  const say = (prompt: string) => ok<Session>('POST /session', { agent_id, prompt })
  const asking = await say(saying({ text: 'May I?', tool_calls: [{ name: 'bash', input: { command: 'date' } }] }))
  const failing = await say(saying({ status: 400 }))
  const slow = await say(saying({ pauseAtFrame: 1, text: 'late' }))

  const isRunning = (now: Overview) => now.running.sessions.some(({ session_id }) => session_id === slow.id)

  const all = await eventually(async () => {
    const now = await overviewOf(service)
    return now.approvals.pending === 1 && now.failures.length === 1 && isRunning(now) ? now : undefined
  })
  assert.deepEqual(
    all.approvals.oldest.map(({ session_id, name }) => [session_id, name]),
    [[asking.id, 'bash']],
  )
  const [failure] = all.failures
  assert.deepEqual([failure?.session_id, failure?.agent_id], [failing.id, agent_id])
  assert.ok(failure?.error_type && failure.message && Date.parse(failure.failed_at) > 0)
  // The ledger is written a moment after a call.
  await eventually(async () => (await overviewOf(service)).spend.requests >= 1)

  const own = await overviewOf(ada)
  assert.deepEqual([own.approvals.pending, own.failures.length], [1, 1])
  const others = await overviewOf(bob)
  assert.deepEqual(
    [others.approvals.pending, others.failures, others.running.sessions, others.spend.requests, others.budgets],
    [0, [], [], 0, []],
  )
  rig.upstream.release()
})

test('budgets that are nearly spent come first; only admins see them', async () => {
  const text = `update budgets set spent_usd = $1 where scope = 'owner' and scope_id = $2`
  for (const [owner, spent] of [
    ['ada', 0.8],
    ['bob', 0.95],
    ['eve', 0.79],
  ] as const) {
    await ok(`PUT /api/budgets/owner/${owner}`, { max_budget: 1 })
    await rig.database.query(text, [spent, owner])
  }
  const shown = async (target: Target) =>
    (await overviewOf(target)).budgets.map(({ scope_id, spend }) => [scope_id, spend])
  assert.deepEqual(await shown(service), [
    ['bob', 0.95],
    ['ada', 0.8],
  ])
  assert.deepEqual(await shown(ada), [['ada', 0.8]])
  assert.deepEqual(await shown(bob), [])
})

test('today begins at midnight of the time zone', async () => {
  const { spend } = await overviewOf(service, '?timezone=Asia/Kolkata')
  assert.match(spend.since, /T18:30:00\.000Z$/)
  const wrong = await send(service, 'GET /api/overview?timezone=Mars/Olympus')
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /timezone/)
})
