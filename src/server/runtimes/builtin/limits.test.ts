import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOver, prompt, rigOver, session } from '../../../../test/support/sessions/builtin-rig.ts'
import { looseEvent } from '../../../../test/support/sessions/loose-event.ts'
import { fullUsage, messageFrames } from '../../../../test/support/upstream/message-frames.ts'
import type { BudgetReached, NewEvent } from '../../../contract/events.ts'
import type { Call, Sink } from '../../gateway/core/call.ts'
import { wholeEchoes } from '../../platform/echoes.ts'
import { AppError, DatabaseUnavailable } from '../../platform/errors.ts'
import { partsOf, type RunContext } from '../runtime.ts'
import { retryDelay } from './backoff.ts'
import type { Message } from './context/blocks.ts'
import { builtinRuntime } from './runtime.ts'

type Said = 'tool' | 'done'
/** Outcome of one model call: an answer, a rejection of the gateway, or an error of the provider. */
type Step =
  | Said
  | 'cut'
  | AppError
  | { readonly breaksWith: string }
  | { readonly status: number; readonly headers: Readonly<Record<string, string>> }

const asked: NewEvent = { type: 'user.message', prompt_id: prompt.id, content: prompt.parts }

const usedUp: BudgetReached = {
  type: 'budget_reached',
  scope: 'session',
  scope_id: 'ses_1',
  max_usd: 0.01,
  needed_usd: 0.0042,
  resets_at: '2100-01-01T00:00:00.000Z',
}
const noMoney = new AppError('budget_exceeded', 'the budget of session ses_1 is used up', {
  cause: usedUp,
})
const slowDown = (seconds: number) =>
  new AppError('rate_limited', 'too many requests', { headers: { 'retry-after': String(seconds) } })

const answerOf = (said: Said, at: number) =>
  ({
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'demo',
    content: [
      { type: 'text', text: said },
      ...(said === 'tool'
        ? [{ type: 'tool_use' as const, id: `toolu_${at}`, name: 'bash', input: { command: `run ${at}` } }]
        : []),
    ],
    stop_reason: said === 'tool' ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: fullUsage(10, 5),
  }) as const

function play(step: Step, at: number, sink: Sink): void {
  if (step instanceof AppError) throw step
  if (typeof step === 'object' && 'status' in step) {
    sink.head(step.status, step.headers)
    sink.end(Buffer.from('{"error":{"message":"not now"}}'))
    return
  }
  sink.head(200, {})
  const isBroken = typeof step === 'object' || step === 'cut'
  const frames = [...messageFrames(answerOf(isBroken ? 'done' : step, at))]
  for (const frame of isBroken ? frames.slice(0, 3) : frames) sink.data(Buffer.from(frame))
  const error = typeof step === 'object' && { type: 'error', error: { type: step.breaksWith, message: 'it broke' } }
  sink.end(error ? Buffer.from(`event: error\ndata: ${JSON.stringify(error)}\n\n`) : undefined)
}

/** A gateway that follows `steps`, a runtime that uses it, and records of both. Waits end at once. */
function createRig(steps: readonly Step[], onWait: () => void = () => undefined) {
  const bodies: { messages: Message[] }[] = []
  const commands: string[] = []
  const waits: number[] = []
  const gateway = {
    echoes: () => wholeEchoes([]),
    async call({ body }: Call, sink: Sink) {
      const at = bodies.push(JSON.parse(body.toString())) - 1
      play(steps[at] ?? 'done', at, sink)
      const usage = {} as never
      return { outcome: 'completed', status: 200, stopReason: undefined, usage, firstContentMs: 1 } as const
    },
  }
  const runtime = builtinRuntime({
    gateway,
    ...rigOver(commands),
    async wait(ms) {
      waits.push(ms)
      onWait()
    },
  })
  return { bodies, commands, runtime, waitedMs: () => waits.reduce((sum, ms) => sum + ms, 0) }
}

/** The log after one run of the prompt on `log`. */
async function runOn(
  { runtime }: ReturnType<typeof createRig>,
  log: readonly NewEvent[],
  changes?: Partial<RunContext>,
) {
  const stored = [...log]
  for await (const batch of runtime.run(session, prompt, contextOver(log, changes)))
    stored.push(...partsOf(batch).events)
  return stored
}

interface Told {
  readonly type: string
  readonly message: string
  readonly retry_status: { readonly type: string; readonly attempt?: number; readonly next_at?: string }
}

const typesOf = (log: readonly NewEvent[]) => log.map(({ type }) => type)
const errorsOf = (log: readonly NewEvent[]) =>
  log.filter(({ type }) => type === 'session.error').map(event => event.error as Told)

test('an exhausted budget pauses the run: its events stay, and the last one names the budget', async () => {
  const rig = createRig(['tool', noMoney])
  const log = await runOn(rig, [asked])
  assert.deepEqual(typesOf(log).slice(-5), [
    'agent.tool_result',
    'span.model_request_start',
    'span.model_request_end',
    'session.usage',
    'session.status_idle',
  ])
  const { stop_reason, stop_details } = log.at(-1) as { stop_reason?: unknown; stop_details?: unknown }
  assert.deepEqual(stop_reason, usedUp)
  assert.deepEqual(stop_details, { type: 'budget_reached', message: 'the budget of session ses_1 is used up' })
  assert.deepEqual(errorsOf(log), [])
})

test('a paused run resumes with the same conversation and runs no tool again', async () => {
  const rig = createRig(['tool', noMoney, 'tool', 'done'])
  const paused = await runOn(rig, [asked])
  const log = await runOn(rig, paused)
  assert.deepEqual(rig.commands, ['run 0', 'run 2'])
  assert.deepEqual(rig.bodies[2], rig.bodies[1], 'the refused request is made again, unchanged')
  assert.deepEqual(log.at(-1)?.stop_reason, { type: 'end_turn' })
  assert.equal(typesOf(log).filter(type => type === 'user.message').length, 1)
  const begun = log.filter(({ type }) => type === 'span.model_request_start')
  assert.deepEqual(
    begun.map(event => event.prompt_ids),
    [['msg_1'], [], [], []],
    'the prompt enters the conversation once',
  )
})

test('a billing error of the provider fails the run instead of pausing it', async () => {
  for (const step of [{ status: 402, headers: {} }, new AppError('budget_exceeded', 'pay the provider')]) {
    const log = await runOn(createRig([step]), [asked])
    assert.deepEqual(
      errorsOf(log).map(({ type, retry_status }) => [type, retry_status.type]),
      [['billing_error', 'terminal']],
    )
  }
})

test('a run continues after the wait that a rate limit requests', async () => {
  const rig = createRig([slowDown(7), slowDown(3), 'done'])
  const log = await runOn(rig, [asked])
  assert.ok(rig.waitedMs() >= 10_000 && rig.waitedMs() < 13_000, `waited ${rig.waitedMs()} ms`)
  assert.equal(log.at(-1)?.type, 'session.status_idle')
  const [first] = errorsOf(log)
  assert.deepEqual([first?.type, first?.retry_status.type], ['model_rate_limited_error', 'retrying'])
  assert.match(first?.message ?? '', /^too many requests; retrying in [78] s$/)
})

test('retry-after of the provider, of an overloaded process and of an unreachable database is respected', async () => {
  const told = { headers: { 'retry-after': '2' } }
  const steps = [
    { status: 429, ...told },
    new AppError('overloaded', 'full', told),
    new AppError('unavailable', 'away', told),
  ]
  const rig = createRig([...steps, 'done'])
  assert.equal((await runOn(rig, [asked])).at(-1)?.type, 'session.status_idle')
  assert.ok(rig.waitedMs() >= 6_000)
})

const retryStatusesOf = (log: readonly NewEvent[]) => errorsOf(log).map(({ retry_status }) => retry_status)

test('C1: 429, 529, 5xx, failed connections and truncated answers are retried, and each try is an event', async () => {
  const at = (status: number): Step => ({ status, headers: {} })
  const unreachable = new AppError('upstream_unreachable', 'no connection')
  const passing: Step[] = [at(429), at(529), at(500), at(503), unreachable, { breaksWith: 'overloaded_error' }, 'cut']
  const rig = createRig([...passing, 'done'])
  const log = await runOn(rig, [asked])
  assert.equal(log.at(-1)?.type, 'session.status_idle')
  const statuses = retryStatusesOf(log)
  assert.deepEqual(
    statuses.map(({ type, attempt }) => [type, attempt]),
    [1, 2, 3, 4, 5, 6, 7].map(attempt => ['retrying', attempt]),
  )
  for (const { next_at = '' } of statuses) assert.ok(!Number.isNaN(Date.parse(next_at)), next_at)
  assert.deepEqual(errorsOf(log)[1]?.type, 'model_overloaded_error')
})

test('C1: a step fails after eight tries, and the message reports that', async () => {
  const rig = createRig(Array.from({ length: 100 }, () => ({ status: 529, headers: {} })))
  const log = await runOn(rig, [asked])
  assert.equal(rig.bodies.length, 8)
  // 1 + 2 + 4 + 8 + 16 + 30 + 30 at most.
  assert.ok(rig.waitedMs() <= 91_000, `waited ${rig.waitedMs()} ms`)
  assert.equal(errorsOf(log).at(-1)?.retry_status.type, 'exhausted')
  assert.match(errorsOf(log).at(-1)?.message ?? '', /failed after 8 tries$/)
})

test('C1: Retry-After is respected up to 60 s, as seconds and as a date', async () => {
  const day = createRig([{ status: 429, headers: { 'retry-after': '86400' } }, 'done'])
  assert.equal((await runOn(day, [asked])).at(-1)?.type, 'session.status_idle')
  assert.ok(day.waitedMs() >= 60_000 && day.waitedMs() <= 61_000, `waited ${day.waitedMs()} ms`)
  const soon = new Date(Date.now() + 20_000).toUTCString()
  const dated = createRig([{ status: 503, headers: { 'retry-after': soon } }, 'done'])
  await runOn(dated, [asked])
  assert.ok(dated.waitedMs() > 15_000 && dated.waitedMs() < 22_000, `waited ${dated.waitedMs()} ms`)
})

test('a long wait postpones the prompt; the run that resumes it counts the earlier tries', async () => {
  const asides: number[] = []
  const context = { postpone: async (ms: number) => void asides.push(ms) }
  const rig = createRig([{ status: 429, headers: { 'retry-after': '20' } }, { status: 429, headers: {} }, 'done'])
  const stored = (events: readonly NewEvent[]) =>
    events.map(event => ({ ...event, processed_at: new Date(Date.now() - 30_000).toISOString() }))
  const first = await runOn(rig, [asked], context)
  assert.deepEqual(
    first.slice(-2).map(({ type }) => type),
    ['span.model_request_end', 'session.error'],
  )
  assert.ok(asides.length === 1 && (asides[0] ?? 0) >= 20_000 && rig.waitedMs() === 0, String(asides))
  const second = await runOn(rig, stored(first), context)
  assert.deepEqual(
    retryStatusesOf(second).map(({ type, attempt }) => [type, attempt]),
    [1, 2].map(attempt => ['retrying', attempt]),
  )
  assert.equal(second.at(-1)?.type, 'session.status_idle')
})

test('a run that resumes after ten minutes of failures fails the step', async () => {
  const rig = createRig([{ status: 529, headers: {} }])
  const processed_at = new Date(Date.now() - 601_000).toISOString()
  const error = {
    type: 'model_overloaded_error',
    message: 'busy',
    retry_status: { type: 'retrying', attempt: 2 },
  }
  const log = await runOn(rig, [asked, looseEvent({ type: 'session.error', error, processed_at })])
  assert.equal(errorsOf(log).at(-1)?.retry_status.type, 'exhausted')
})

test('C1: every other upstream error ends the run at once', async () => {
  const final: Step[] = [
    ...[400, 401, 403, 404, 408, 409, 413, 422].map(status => ({ status, headers: { 'retry-after': '1' } })),
    new AppError('not_found', 'no such model'),
    { breaksWith: 'invalid_request_error' },
  ]
  for (const step of final) {
    const rig = createRig([step])
    const log = await runOn(rig, [asked])
    assert.deepEqual([rig.bodies.length, rig.waitedMs(), errorsOf(log).at(-1)?.retry_status.type], [1, 0, 'terminal'])
  }
})

test('C1: ten minutes end a step before its eighth try', () => {
  const failure = { type: 'any', message: 'any', isPassing: true, retryAfterMs: 60_000 }
  assert.equal(retryDelay(failure, { count: 3, waitedMs: 0, elapsedMs: 570_000 }, 0), undefined)
  assert.equal(retryDelay(failure, { count: 3, waitedMs: 0, elapsedMs: 500_000 }, 0), 60_000)
})

test('V1: an unreachable database during a model call is not reported as a model failure', async () => {
  const rig = createRig([new DatabaseUnavailable('away', undefined)])
  await assert.rejects(runOn(rig, [asked]), DatabaseUnavailable)
})

test('a wait ends without another try when the run is stopped or handed over', async () => {
  const stop = new AbortController()
  const stopping = createRig([slowDown(60)], () => stop.abort())
  await runOn(stopping, [asked], { signal: stop.signal })
  let waits = 0
  const draining = createRig([slowDown(60)], () => waits++)
  const log = await runOn(draining, [asked], { isDraining: () => waits > 2 })
  assert.equal(errorsOf(log).at(-1)?.retry_status.type, 'retrying')
  for (const { bodies, waitedMs } of [stopping, draining]) assert.ok(bodies.length === 1 && waitedMs() < 3_000)
})

test('C5: a prompt whose key was revoked makes no model call and does not report a billing error', async () => {
  const rig = createRig(['done'])
  const log = await runOn(rig, [asked], { payer: async () => undefined })
  assert.equal(rig.bodies.length, 0)
  assert.match(errorsOf(log).at(-1)?.message ?? '', /key that queued the prompt was revoked/)
  assert.equal(errorsOf(log).at(-1)?.type, 'model_request_failed_error')
  assert.deepEqual(typesOf(log).slice(-2), ['span.model_request_end', 'session.error'])
})
