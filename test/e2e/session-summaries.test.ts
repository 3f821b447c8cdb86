import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { SessionDetails, SessionSummary } from '../../src/contract/session-summaries.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, type Target } from '../support/service/send.ts'
import { startScriptedRig } from '../support/sessions/scripted-rig.ts'
import { bash, saying } from '../support/upstream/scripted-service.ts'

const rig = await startScriptedRig({ params: { input_cost_per_token: 0.001, output_cost_per_token: 0.001 } })
const { ok, service } = rig
const bob = await holderOf(service, { owner_id: 'bob' })

const newAgent = (name: string, policy: string, owner_id = 'ada') =>
  ok<Agent>('POST /api/agents', {
    name,
    owner_id,
    model: 'scripted',
    tools: [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: policy } } }],
  })
const free = await newAgent('Free', 'always_allow')
const careful = await newAgent('Careful', 'always_ask')
const start = (agent: Agent, prompt: string) => ok<Session>('POST /session', { agent_id: agent.id, prompt })

const listOf = async (query = '', target: Target = service) => {
  const answer = await send(target, `GET /api/sessions${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<{ sessions: SessionSummary[]; next_cursor: string | null }>()
}
const summaryOf = ({ id }: Session) => ok<SessionDetails>(`GET /api/sessions/${id}`)
const once = (session: Session, kind: string) =>
  eventually(async () => {
    const summary = await summaryOf(session)
    return summary.activity.kind === kind ? summary : undefined
  })

test('GET /api/sessions returns what each session does, with tokens, cost and budget', async () => {
  const thinking = await start(free, saying({ pauseAtFrame: 1, text: 'late' }))
  const model = await once(thinking, 'model')
  assert.deepEqual(
    [model.status, model.model, model.agent_name, model.agent_version],
    ['running', 'scripted', 'Free', 1],
  )
  assert.ok(model.activity.since && model.started_at)
  assert.ok(model.lease && Date.parse(model.lease.expires_at) > Date.parse(model.started_at))
  await ok(`POST /session/${thinking.id}/prompt_async`, {
    model: { providerID: 'x', modelID: 'scripted' },
    parts: [{ type: 'text', text: saying({ text: 'next' }) }],
  })
  assert.equal((await summaryOf(thinking)).waiting_prompts, 1)

  const asking = await start(careful, saying(bash('date'), { text: 'Done' }))
  await once(asking, 'approval')
  // The run parks a moment after its call waits.
  const approval = await eventually(async () => {
    const summary = await summaryOf(asking)
    return summary.status === 'idle' ? summary : undefined
  })
  assert.deepEqual([approval.status, approval.activity.name], ['idle', 'bash'])
  assert.ok(approval.activity.until)

  const working = await start(free, saying(bash('sleep 60'), { text: 'Done' }))
  const tool = await once(working, 'tool')
  assert.deepEqual([tool.status, tool.activity.name], ['running', 'bash'])
  await ok(`POST /session/${working.id}/interrupt`)
  assert.equal((await once(working, 'idle')).activity.reason, 'interrupted')

  const failing = await start(free, saying({ status: 400 }))
  const failed = await once(failing, 'failed')
  assert.ok(failed.status === 'error' && failed.activity.reason && failed.activity.message)

  const done = await start(free, saying({ text: 'Hello' }))
  await once(done, 'idle')
  // Only now: the call of the prompt reserves more than this.
  await ok(`PUT /api/budgets/session/${done.id}`, { max_budget: 5 })
  const finished = await eventually(async () => {
    const summary = await once(done, 'idle')
    return summary.requests > 0 ? summary : undefined
  })
  assert.deepEqual([finished.requests, finished.unpriced_requests, finished.activity.reason], [1, 0, 'end_turn'])
  assert.ok(finished.input_tokens > 0 && finished.output_tokens > 0 && Number(finished.cost_usd) > 0)
  assert.deepEqual([finished.budget?.max_usd, finished.owner_id], ['5', 'ada'])
  await eventually(async () => (await summaryOf(done)).lease === null)

  const { sessions } = await listOf()
  assert.deepEqual(
    sessions.map(({ id }) => id),
    [done, failing, working, asking, thinking].map(({ id }) => id),
  )
  rig.upstream.release()
})

test('filters by agent, owner, status, time and words, and pages by key', async () => {
  const own = await newAgent('Own', 'always_allow', 'bob')
  const first = await ok<Session>('POST /session', { agent_id: own.id, title: 'Needle one' })
  const second = await ok<Session>('POST /session', { agent_id: own.id, title: 'needle two' })
  const idsOf = async (query: string, target?: Target) => (await listOf(query, target)).sessions.map(({ id }) => id)
  const both = [second.id, first.id]
  for (const query of [`agent_id=${own.id}`, 'owner_id=bob', 'q=NEEDLE', 'q=needle&status=idle'])
    assert.deepEqual(await idsOf(`?${query}`), both, query)
  assert.deepEqual(await idsOf('', bob), both)
  assert.deepEqual(await idsOf('?owner_id=ada', bob), [])
  assert.deepEqual(await idsOf('?q=needle&from=2100-01-01'), [])
  assert.deepEqual(await idsOf('?q=needle&to=2100-01-01'), both)
  assert.deepEqual(await idsOf('?q=needle&status=running'), [])
  const page = await listOf('?q=needle&limit=1')
  assert.deepEqual(await idsOf(`?q=needle&limit=1&cursor=${page.next_cursor}`), [first.id])
  assert.equal((await send(service, 'GET /api/sessions?from=yesterday')).status, 400)

  await ok(`DELETE /session/${second.id}`)
  assert.deepEqual(await idsOf('?q=needle'), [first.id])
  assert.deepEqual(await idsOf('?q=needle&include_deleted=true'), both)
  const deleted = await summaryOf(second)
  assert.ok(deleted.activity.kind === 'deleted' && deleted.deleted_at)
  const other = await start(free, saying({ text: 'Hello' }))
  assert.equal((await send(bob, `GET /api/sessions/${other.id}`)).status, 404)
})
