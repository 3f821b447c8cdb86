import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import type { DeploymentCreate } from '../../../contract/managed-deployments.ts'
import { createAudit } from '../../audit/audit.ts'
import { auditStore } from '../../audit/store.ts'
import { type Caller, serviceActor } from '../../http/caller.ts'
import { AppError, DatabaseUnavailable } from '../../platform/errors.ts'
import { checkCron, nextRun, nextRuns } from '../../schedules/next-run.ts'
import { deploymentStore } from './deployment-store.ts'
import { createDeploymentTicker } from './deployment-ticker.ts'
import { createDeployments } from './deployments.ts'
import { createRunStart } from './run-start.ts'
import { deploymentRunStore } from './run-store.ts'
import { createDeploymentTiming } from './timing.ts'

const { pool, db } = await freshDatabase()
const ana: Caller = { principal: 'ana', role: 'user', ownerScope: 'ana', key: undefined }
const by = { caller: ana, actor: serviceActor }

/** Sessions that were created: the body, the caller and the key of the run. */
const made: { title: unknown; principal: string; key: string | undefined }[] = []
let failure: Error | undefined
const sessions = {
  check: async () => undefined,
  async create(body: { title?: unknown }, { principal }: Caller, { idempotency }: { idempotency?: { key: string } }) {
    if (failure) throw failure
    made.push({ title: body.title, principal, key: idempotency?.key })
    return { session: { id: `ses_${made.length}` } }
  },
}
const agent = { id: 'agent_1', version: 3, status: 'active', owner_id: 'ana', run_as_key_id: null }
const agents = {
  find: async (id: string) => (id === agent.id ? agent : undefined),
  version: async (_id: string, version: number) => (version <= agent.version ? {} : undefined),
}
const log = { error: () => undefined, warn: (fields: unknown) => assert.fail(String(fields)) }
const shared = {
  pool,
  store: deploymentStore(pool),
  runs: deploymentRunStore(pool),
  agents,
  timing: createDeploymentTiming({ check: checkCron, next: nextRun, following: nextRuns }),
  start: createRunStart({ sessions, log } as never),
}
const deployments = createDeployments({ ...shared, sessions, audit: createAudit(auditStore(db)) } as never)
const runAs = async ({ principal }: { principal: string }) => ({ ...ana, principal })
const ticker = () => createDeploymentTicker({ ...shared, runAs, log } as never)

const schedule = { type: 'cron' as const, expression: '0  9 * * MON-FRI', timezone: 'Europe/Berlin' }
const fields: DeploymentCreate = {
  name: 'Report',
  agent: 'agent_1',
  environment_id: 'env_1',
  initial_events: [{ type: 'user.message', content: [{ type: 'text', text: 'Write it.' }] }],
  schedule,
}
const create = (more: Partial<DeploymentCreate> = {}) => deployments.create({ ...fields, ...more }, by, undefined)
const makeDue = (id: string) =>
  pool.query(`update managed_deployments set next_due_at = now() - interval '3 days' where id = $1`, [id])
const dueOf = async (id: string) =>
  (await pool.query<{ next_due_at: Date | null }>('select next_due_at from managed_deployments where id = $1', [id]))
    .rows[0]?.next_due_at
const runsOf = (id: string) =>
  deployments.runs(
    {
      deploymentId: id,
      hasError: undefined,
      trigger: undefined,
      from: undefined,
      before: undefined,
      after: undefined,
      limit: 9,
    },
    ana,
  )

test('a deployment has the current version of its agent, its schedule in normal form and the next times', async () => {
  const { schedule: shown, agent: reference, status, initial_events } = await create()
  assert.deepEqual(reference, { id: 'agent_1', type: 'agent', version: 3 })
  assert.deepEqual([shown?.expression, shown?.upcoming_runs_at.length, status], ['0 9 * * MON-FRI', 5, 'active'])
  assert.deepEqual(initial_events, fields.initial_events)
  assert.equal((await create({ schedule: null })).schedule, null)
})

test('fields that cannot work are errors with their name', async () => {
  const attempts: readonly (readonly [Partial<DeploymentCreate>, RegExp])[] = [
    [{ schedule: { ...schedule, expression: '* * *' } }, /^schedule\.expression must have five fields/],
    [{ schedule: { ...schedule, timezone: 'Mars/Base' } }, /^schedule\.timezone must be an IANA/],
    [{ agent: 'agent_2' }, /^agent agent_2 not found/],
    [{ agent: { type: 'agent', id: 'agent_1', version: 4 } }, /^version 4 not found/],
  ]
  for (const [more, message] of attempts) await assert.rejects(create(more), { message })
})

test('what is due runs once, also when several times have passed and several processes look', async () => {
  const { id } = await create()
  await makeDue(id)
  const before = made.length
  await Promise.all([ticker().poll(), ticker().poll(), ticker().poll()])
  await ticker().poll()
  const started = made.slice(before)
  const [run, another] = await runsOf(id)
  assert.equal(another, undefined)
  assert.deepEqual(started, [{ title: 'Report', principal: 'ana', key: run?.id }])
  assert.deepEqual([run?.session_id, run?.error, run?.trigger_context.type], [`ses_${made.length}`, null, 'schedule'])
  assert.ok(((await dueOf(id))?.getTime() ?? 0) > Date.now())
  assert.ok((await deployments.get(id, ana)).schedule?.last_run_at)
})

test('a run of a process that was killed is started by another one; an error is its result', async () => {
  const { id } = await create()
  await makeDue(id)
  failure = new DatabaseUnavailable('database unreachable', undefined)
  await assert.rejects(ticker().poll(), DatabaseUnavailable)
  assert.deepEqual(await runsOf(id), [])
  assert.ok(await shared.runs.claim(), 'a process that is killed now does not settle it')
  await ticker().poll()
  assert.deepEqual(await runsOf(id), [])
  await pool.query(`update deployment_runs set claimed_until = now() where claimed_until is not null`)
  failure = new AppError('invalid_request', 'agent agent_1 is paused')
  await ticker().poll()
  const [rejected] = await runsOf(id)
  assert.deepEqual(rejected?.error, { type: 'session_creation_rejected_error', message: 'agent agent_1 is paused' })
  failure = new Error('bug')
  assert.equal((await deployments.run(id, ana)).error?.type, 'unknown_error')
  failure = undefined
})

test('a paused deployment runs on request only, an archived one not at all', async () => {
  const { id } = await create()
  const paused = await deployments.pause(id, by)
  assert.deepEqual([paused.status, paused.paused_reason, await dueOf(id)], ['paused', { type: 'manual' }, null])
  const run = await deployments.run(id, ana)
  assert.deepEqual([run.trigger_context, run.error], [{ type: 'manual' }, null])
  assert.deepEqual(await deployments.getRun(run.id, ana), run)
  assert.equal((await deployments.unpause(id, by)).status, 'active')
  assert.ok(await dueOf(id))

  const archived = await deployments.archive(id, by)
  assert.deepEqual([archived.status, archived.schedule?.upcoming_runs_at, await dueOf(id)], ['active', [], null])
  const attempts = [
    () => deployments.run(id, ana),
    () => deployments.unpause(id, by),
    () => deployments.update(id, {}, by),
  ]
  for (const attempt of attempts) await assert.rejects(attempt, { message: `deployment ${id} is archived` })
})

test('a run on request that is repeated with its key is the first one, also when its process was killed', async () => {
  const { id } = await create()
  const request = { principal: 'ana', route: `run ${id}`, key: 'k1', bodyHash: Buffer.from('1') }
  failure = new DatabaseUnavailable('database unreachable', undefined)
  await assert.rejects(deployments.run(id, ana, request), DatabaseUnavailable)
  failure = undefined
  const first = await deployments.run(id, ana, request)
  assert.equal(made.at(-1)?.key, first.id)
  const count = made.length
  assert.deepEqual(await deployments.run(id, ana, request), first)
  assert.equal(made.length, count)
  assert.notEqual((await deployments.run(id, ana)).id, first.id)
})

test('an update replaces what it names, clears with null, and keeps the rest', async () => {
  const { id, ...before } = await create({ vault_ids: ['vlt_1'], metadata: { a: '1', b: '2' }, description: 'Old' })
  const { updated_at, ...after } = await deployments.update(
    id,
    { name: 'New', vault_ids: null, metadata: { a: null }, description: null, schedule: null },
    by,
  )
  const changes = { name: 'New', vault_ids: [], metadata: { b: '2' }, description: null, schedule: null }
  assert.deepEqual({ ...after, updated_at: before.updated_at }, { ...before, id, ...changes })
  assert.ok(updated_at >= before.updated_at)
  assert.equal(await dueOf(id), null)
})
