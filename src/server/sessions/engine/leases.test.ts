import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../../test/support/eventually.ts'
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
const away = () => Promise.reject(new AppError('unavailable', 'the database is away'))

/** Leases over a table that the test plays. */
function createRig(t: TestContext, renew: LeaseStore['renew'], slow: Partial<typeof pace> = {}) {
  const controls: ((sessionId: string) => void)[] = []
  const asked = new Set<string>()
  const rig = {
    renewals: 0,
    renew,
    /** Asks to stop the running prompt; the hint may get lost. */
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
    take: async (sessionId: string) =>
      taken.has(sessionId)
        ? undefined
        : { sessionId, fence: ++fence, wasAbandoned: false, hasOthers: false, session: { next_seq: 1 } },
    rest: async (holds: readonly { readonly sessionId: string }[]) => holds.map(({ sessionId }) => sessionId),
    cool: async () => undefined,
    renew(holds: Parameters<LeaseStore['renew']>[0]) {
      rig.renewals++
      return rig.renew(holds)
    },
  } as unknown as LeaseStore
  const calls: PromptStore['calls'] = async holds =>
    holds.filter(({ sessionId }) => asked.has(sessionId)).map(hold => ({ session_id: hold.sessionId, run_id: 'run_1' }))
  const prompts = { calls } as PromptStore
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

const all: LeaseStore['renew'] = async holds => holds.map(({ sessionId }) => sessionId)

async function hold(leases: Leases, sessionId: string) {
  const held = await leases.take(sessionId)
  assert.ok(held)
  return held
}

test('a session that somebody else runs is not held', async t => {
  const { leases } = createRig(t, all)
  assert.equal(await leases.take('taken'), undefined)
})

test('a held session is renewed and stays ours', async t => {
  const { rig, leases } = createRig(t, all)
  const held = await hold(leases, 'a')
  await eventually(() => rig.renewals > 3)
  assert.equal(held.lost.aborted, false)
})

test('a session whose lease went to somebody else is given up, and no other', async t => {
  const { leases } = createRig(t, async () => ['b'])
  const [lost, kept] = [await hold(leases, 'a'), await hold(leases, 'b')]
  await eventually(() => lost.lost.aborted)
  assert.equal(kept.lost.aborted, false)
})

test('an owner whose renewals fail stops by itself before its lease ends, and not at the first failure', async t => {
  const { rig, leases } = createRig(t, away)
  const held = await hold(leases, 'a')
  const startedAt = performance.now()
  await eventually(() => rig.renewals > 2)
  assert.equal(held.lost.aborted, false)
  await eventually(() => held.lost.aborted)
  assert.ok(performance.now() - startedAt >= pace.selfStopMs)
})

test('an owner stops by itself when the database does not answer at all', async t => {
  const { promise, resolve } = Promise.withResolvers<string[]>()
  const { leases } = createRig(t, () => promise)
  const held = await hold(leases, 'a')
  await eventually(() => held.lost.aborted)
  resolve([])
})

test('V6: an owner whose lease may have lapsed writes nothing, though no timer of its process has run yet', async t => {
  const asleep = { renewMs: 60_000, watchMs: 60_000, selfStopMs: 30 }
  const { leases } = createRig(t, all, asleep)
  const held = await hold(leases, 'a')
  const folds = { note: () => undefined }
  const log = () => createEventLog({ store: writer, pool: undefined as never, live, folds })
  const append = () => log().append(held, [{ type: 'any' }])
  const stored: string[] = []
  const live = { publish: () => undefined } as unknown as LiveEvents
  const writer = {
    appendHeld: async (_hold: unknown, events: readonly NamedEvent[]) => {
      stored.push(...events.map(({ type }) => type))
      return []
    },
  } as unknown as EventStore
  await append()
  const startedAt = performance.now()
  while (performance.now() - startedAt <= asleep.selfStopMs);
  await assert.rejects(append(), FenceLost)
  assert.deepEqual(stored, ['any'])
  assert.equal(held.lost.aborted, true, 'what it runs is told to stop')
})

test('V6: a lease counts from before the request that took or renewed it', async t => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { rig, leases } = createRig(t, all, { watchMs: 60_000, selfStopMs: 100 })
  const held = await hold(leases, 'a')
  rig.renew = async holds => {
    await promise
    return all(holds)
  }
  await eventually(() => !held.mayWrite())
  resolve()
  await eventually(() => held.lost.aborted)
})

test('a request to stop arrives by its hint at once, and without one at the next renewal', async t => {
  const { rig, leases } = createRig(t, all)
  for (const hint of [true, false]) {
    const held = await hold(leases, `stop-${hint}`)
    const stopped = new Promise<string>(resolve => {
      held.onStop = resolve
    })
    rig.stop(held.sessionId, { hint })
    assert.equal(await stopped, 'run_1')
    assert.equal(held.lost.aborted, false)
    leases.drop(held)
  }
})

test('a deletion arrives by its hint', async t => {
  const { rig, leases } = createRig(t, all)
  const held = await hold(leases, 'a')
  rig.renew = async () => []
  rig.hint('a')
  await eventually(() => held.lost.aborted)
})

test('a session that was given back is not renewed any more', async t => {
  const { rig, leases } = createRig(t, all)
  leases.drop(await hold(leases, 'a'))
  const renewals = rig.renewals
  const other = await hold(leases, 'b')
  rig.renew = async holds => {
    assert.deepEqual(
      holds.map(({ sessionId }) => sessionId),
      ['b'],
    )
    return ['b']
  }
  await eventually(() => rig.renewals > renewals + 1)
  assert.equal(other.lost.aborted, false)
})

test('a run that waits for people gives its lease up once it is quiet, and has one again when it goes on', async t => {
  const { rig, leases } = createRig(t, all)
  const held = await hold(leases, 'a')
  const before = held.fence
  held.isAsking = true
  await eventually(() => held.regain?.() !== undefined)
  assert.ok(held.fence > before, 'the lease is a new one')
  held.isAsking = false
  const renewals = rig.renewals
  await eventually(() => rig.renewals > renewals + 1)
  assert.deepEqual([held.regain?.(), held.lost.aborted], [undefined, false])
})

test('a run without its lease does not get stale, and is lost when somebody else has the session', async t => {
  const { leases, taken } = createRig(t, all, { selfStopMs: 30 })
  const held = await hold(leases, 'a')
  held.isAsking = true
  const log = createEventLog({
    pool: {} as never,
    store: {} as EventStore,
    live: { publish: () => {} } as unknown as LiveEvents,
    folds: { note: () => {} },
  })
  await eventually(() => held.isWarm)
  await new Promise(resolve => setTimeout(resolve, 60))
  assert.equal(held.lost.aborted, false)
  taken.add('a')
  await assert.rejects(log.append(held, [{ type: 'agent.message' }]), FenceLost)
  assert.equal(held.lost.aborted, true)
})

test('a look for work that finds a run which waits here gives it its lease, and no second loop', async t => {
  const { leases } = createRig(t, all)
  const held = await hold(leases, 'a')
  held.isAsking = true
  await eventually(() => held.isWarm)
  assert.equal(await leases.take('a'), held)
  assert.equal(held.isWarm, false)
})
