import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../../test/support/service/eventually.ts'
import type { Notifications } from '../../db/notifications.ts'
import { AppError } from '../../platform/errors.ts'
import { createLog } from '../../platform/log.ts'
import { createEventLog, FenceLost } from '../log/event-log.ts'
import type { EventStore, NamedEvent } from '../log/event-store.ts'
import type { LiveEvents } from '../log/live-events.ts'
import type { PromptStore } from '../queue/prompt-store.ts'
import type { LeaseStore } from './lease-store.ts'
import { Leases } from './leases.ts'

const pace = { renewMs: 10, selfStopMs: 200, watchMs: 10 }
const unreachable = () => Promise.reject(new AppError('unavailable', 'the database is unreachable'))

/** Leases over a table that the test plays. */
function createRig(t: TestContext, renew: LeaseStore['renew'], slow: Partial<typeof pace> = {}) {
  const controls: ((sessionId: string) => void)[] = []
  const asked = new Set<string>()
  const rig = {
    renewals: 0,
    renew,
    /** Requests a stop of the running prompt; the notification may get lost. */
    stop(sessionId: string, { hint }: { hint: boolean }) {
      asked.add(sessionId)
      if (hint) rig.hint(sessionId)
    },
    hint(sessionId: string) {
      for (const control of controls) control(sessionId)
    },
  }
  let fence = 0
  const taken = new Set(['taken'])
  const store = {
    acquire: async (sessionId: string) =>
      taken.has(sessionId)
        ? undefined
        : { sessionId, fence: ++fence, wasAbandoned: false, hasOthers: false, session: { next_seq: 1 } },
    releaseWarm: async (leases: readonly { readonly sessionId: string }[]) => leases.map(({ sessionId }) => sessionId),
    endWarm: async () => undefined,
    renew(leases: Parameters<LeaseStore['renew']>[0]) {
      rig.renewals++
      return rig.renew(leases)
    },
  } as unknown as LeaseStore
  const controlRequests: PromptStore['controlRequests'] = async leases =>
    leases
      .filter(({ sessionId }) => asked.has(sessionId))
      .map(({ sessionId }) => ({ session_id: sessionId, run_id: 'run_1' }))
  const prompts = { controlRequests } as PromptStore
  const on = (_channel: string, control: (sessionId: string) => void) => void controls.push(control)
  const notifications = { on } as unknown as Notifications
  const leases = new Leases({
    store,
    prompts,
    notifications,
    owner: 'me',
    log: createLog('silent'),
    pace: { ...pace, ...slow },
  })
  t.after(() => leases.stop())
  return { rig, leases, taken }
}

const all: LeaseStore['renew'] = async leases => leases.map(({ sessionId }) => sessionId)

async function acquireLease(leases: Leases, sessionId: string) {
  const leased = await leases.acquire(sessionId)
  assert.ok(leased)
  return leased
}

test('a session that another process runs is not acquired', async t => {
  const { leases } = createRig(t, all)
  assert.equal(await leases.acquire('taken'), undefined)
})

test('an acquired lease is renewed and stays ours', async t => {
  const { rig, leases } = createRig(t, all)
  const leased = await acquireLease(leases, 'a')
  await eventually(() => rig.renewals > 3)
  assert.equal(leased.lost.aborted, false)
})

test('a session whose lease another owner acquired is dropped, and no other', async t => {
  const { leases } = createRig(t, async () => ['b'])
  const [lost, kept] = [await acquireLease(leases, 'a'), await acquireLease(leases, 'b')]
  await eventually(() => lost.lost.aborted)
  assert.equal(kept.lost.aborted, false)
})

test('an owner whose renewals fail stops before its lease expires, but not at the first failure', async t => {
  const { rig, leases } = createRig(t, unreachable)
  // The lifetime of a lease counts from before the request for it.
  const startedAt = performance.now()
  const leased = await acquireLease(leases, 'a')
  await eventually(() => rig.renewals > 2)
  assert.equal(leased.lost.aborted, false)
  await eventually(() => leased.lost.aborted)
  assert.ok(performance.now() - startedAt >= pace.selfStopMs)
})

test('an owner stops when the database does not answer at all', async t => {
  const { promise, resolve } = Promise.withResolvers<string[]>()
  const { leases } = createRig(t, () => promise)
  const leased = await acquireLease(leases, 'a')
  await eventually(() => leased.lost.aborted)
  resolve([])
})

test('V6: an owner whose lease may have expired writes nothing, even before a timer of its process has run', async t => {
  const asleep = { renewMs: 60_000, watchMs: 60_000, selfStopMs: 30 }
  const { leases } = createRig(t, all, asleep)
  const leased = await acquireLease(leases, 'a')
  const folds = { note: () => undefined }
  const log = () => createEventLog({ store: writer, pool: undefined as never, live, folds })
  const append = () => log().append(leased, [{ type: 'user.interrupt' }])
  const stored: string[] = []
  const live = { publish: () => undefined } as unknown as LiveEvents
  const writer = {
    appendFenced: async (_hold: unknown, events: readonly NamedEvent[]) => {
      stored.push(...events.map(({ type }) => type))
      return []
    },
  } as unknown as EventStore
  await append()
  const startedAt = performance.now()
  while (performance.now() - startedAt <= asleep.selfStopMs);
  await assert.rejects(append(), FenceLost)
  assert.deepEqual(stored, ['user.interrupt'])
  assert.equal(leased.lost.aborted, true, 'the signal stops what it runs')
})

test('V6: the lifetime of a lease counts from before the request that acquired or renewed it', async t => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { rig, leases } = createRig(t, all, { watchMs: 60_000, selfStopMs: 100 })
  const leased = await acquireLease(leases, 'a')
  rig.renew = async leases => {
    await promise
    return all(leases)
  }
  await eventually(() => !leased.mayWrite())
  resolve()
  await eventually(() => leased.lost.aborted)
})

test('a stop request arrives at once by notification, and at the next renewal without one', async t => {
  const { rig, leases } = createRig(t, all)
  for (const hint of [true, false]) {
    const leased = await acquireLease(leases, `stop-${hint}`)
    const stopped = new Promise<string>(resolve => {
      leased.onStop = resolve
    })
    rig.stop(leased.sessionId, { hint })
    assert.equal(await stopped, 'run_1')
    assert.equal(leased.lost.aborted, false)
    leases.drop(leased)
  }
})

test('a deletion arrives by notification', async t => {
  const { rig, leases } = createRig(t, all)
  const leased = await acquireLease(leases, 'a')
  rig.renew = async () => []
  rig.hint('a')
  await eventually(() => leased.lost.aborted)
})

test('a released lease is not renewed', async t => {
  const { rig, leases } = createRig(t, all)
  leases.drop(await acquireLease(leases, 'a'))
  const renewals = rig.renewals
  const other = await acquireLease(leases, 'b')
  rig.renew = async leases => {
    assert.deepEqual(
      leases.map(({ sessionId }) => sessionId),
      ['b'],
    )
    return ['b']
  }
  await eventually(() => rig.renewals > renewals + 1)
  assert.equal(other.lost.aborted, false)
})

test('an idle run that waits for approval releases its lease, and acquires one when it continues', async t => {
  const { rig, leases } = createRig(t, all)
  const leased = await acquireLease(leases, 'a')
  const before = leased.fence
  leased.isAwaitingApproval = true
  await eventually(() => leased.reacquire?.() !== undefined)
  assert.ok(leased.fence > before, 'the lease is a new one')
  leased.isAwaitingApproval = false
  const renewals = rig.renewals
  await eventually(() => rig.renewals > renewals + 1)
  assert.deepEqual([leased.reacquire?.(), leased.lost.aborted], [undefined, false])
})

test('a run without its lease does not expire, and is lost when another owner has the session', async t => {
  const { leases, taken } = createRig(t, all, { selfStopMs: 30 })
  const leased = await acquireLease(leases, 'a')
  leased.isAwaitingApproval = true
  const log = createEventLog({
    pool: {} as never,
    store: {} as EventStore,
    live: { publish: () => {} } as unknown as LiveEvents,
    folds: { note: () => {} },
  })
  await eventually(() => leased.isWarm)
  await new Promise(resolve => setTimeout(resolve, 60))
  assert.equal(leased.lost.aborted, false)
  taken.add('a')
  await assert.rejects(log.append(leased, [{ type: 'agent.message', content: [] }]), FenceLost)
  assert.equal(leased.lost.aborted, true)
})

test('a sweep that finds a run waiting here gives it a lease and starts no second loop', async t => {
  const { leases } = createRig(t, all)
  const leased = await acquireLease(leases, 'a')
  leased.isAwaitingApproval = true
  await eventually(() => leased.isWarm)
  assert.equal(await leases.acquire('a'), leased)
  assert.equal(leased.isWarm, false)
})
