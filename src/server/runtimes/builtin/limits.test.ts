import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOver, prompt, rigOver, session } from '../../../../test/support/builtin-rig.ts'
import type { BudgetReached, NewEvent } from '../../../contract/events.ts'
import type { Call, Sink } from '../../gateway/call.ts'
import { fullUsage, messageFrames } from '../../gateway/demo/message-frames.ts'
import { AppError } from '../../platform/errors.ts'
import { partsOf, type RunContext } from '../runtime.ts'
import type { Message } from './conversation.ts'
import { builtinRuntime } from './runtime.ts'

type Said = 'tool' | 'done'
/** What becomes of one model call: an answer, a refusal of the gateway, or one of the provider. */
type Step = Said | AppError | { readonly status: number; readonly headers: Readonly<Record<string, string>> }

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

/** A gateway that follows `steps`, a runtime over it, and what they did. Waits are over at once. */
function createRig(steps: readonly Step[], onWait: () => void = () => undefined) {
  const bodies: { messages: Message[] }[] = []
  const commands: string[] = []
  const waits: number[] = []
  const gateway = {
    async call({ body }: Call, sink: Sink) {
      const at = bodies.push(JSON.parse(body.toString())) - 1
      const step = steps[at] ?? 'done'
      if (step instanceof AppError) throw step
      if (typeof step === 'object') {
        sink.head(step.status, step.headers)
        sink.end(Buffer.from('{"error":{"message":"not now"}}'))
      } else {
        sink.head(200, {})
        for (const frame of messageFrames(answerOf(step, at))) sink.data(Buffer.from(frame))
        sink.end()
      }
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

const typesOf = (log: readonly NewEvent[]) => log.map(({ type }) => type)
const errorsOf = (log: readonly NewEvent[]) =>
  log
    .filter(({ type }) => type === 'session.error')
    .map(event => event['error'] as { type: string; message: string; retry_status: { type: string } })

test('a used up budget pauses the run: what was said and done stays, and the end names the budget', async () => {
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

test('a paused run goes on where it stood: the same conversation, and no tool runs again', async () => {
  const rig = createRig(['tool', noMoney, 'tool', 'done'])
  const paused = await runOn(rig, [asked])
  const log = await runOn(rig, paused)
  assert.deepEqual(rig.commands, ['run 0', 'run 2'])
  assert.deepEqual(rig.bodies[2], rig.bodies[1], 'the refused request is made again, unchanged')
  assert.deepEqual(log.at(-1)?.['stop_reason'], { type: 'end_turn' })
  assert.equal(typesOf(log).filter(type => type === 'user.message').length, 1)
  const begun = log.filter(({ type }) => type === 'span.model_request_start')
  assert.deepEqual(
    begun.map(event => event['prompt_ids']),
    [['msg_1'], [], [], []],
    'the prompt enters the conversation once',
  )
})

test('a provider that wants to be paid fails the run: no budget of ours helps', async () => {
  for (const step of [{ status: 402, headers: {} }, new AppError('budget_exceeded', 'pay the provider')]) {
    const log = await runOn(createRig([step]), [asked])
    assert.deepEqual(
      errorsOf(log).map(({ type, retry_status }) => [type, retry_status.type]),
      [['billing_error', 'terminal']],
    )
  }
})

test('a rate limit is waited for as told, and the run goes on', async () => {
  const rig = createRig([slowDown(7), slowDown(3), 'done'])
  const log = await runOn(rig, [asked])
  assert.ok(rig.waitedMs() >= 10_000 && rig.waitedMs() < 12_000, `waited ${rig.waitedMs()} ms`)
  assert.equal(log.at(-1)?.type, 'session.status_idle')
  const [first] = errorsOf(log)
  assert.deepEqual([first?.type, first?.retry_status.type], ['model_rate_limited_error', 'retrying'])
  assert.match(first?.message ?? '', /^too many requests; trying again in [78] s$/)
})

test('whoever names a time is waited for: the provider, a full process, a database that is away', async () => {
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

test('a refusal that names no time, or one too far ahead, ends the run at once', async () => {
  const far = { status: 429, headers: { 'retry-after': '86400' } }
  for (const step of [{ status: 429, headers: {} }, far, new AppError('unavailable', 'away')]) {
    const rig = createRig([step])
    const log = await runOn(rig, [asked])
    assert.deepEqual([rig.bodies.length, rig.waitedMs(), errorsOf(log).at(-1)?.retry_status.type], [1, 0, 'terminal'])
  }
})

test('a rate limit that never ends is given up after ten minutes', async () => {
  const rig = createRig(Array.from({ length: 1_000 }, () => slowDown(1)))
  const log = await runOn(rig, [asked])
  assert.ok(rig.waitedMs() <= 600_000 && rig.waitedMs() > 500_000, `waited ${rig.waitedMs()} ms`)
  assert.ok(rig.bodies.length < 200, `${rig.bodies.length} tries`)
  assert.equal(errorsOf(log).at(-1)?.retry_status.type, 'terminal')
})

test('a wait ends at once when the run is stopped or handed over, without another try', async () => {
  const stop = new AbortController()
  const stopping = createRig([slowDown(60)], () => stop.abort())
  await runOn(stopping, [asked], { signal: stop.signal })
  let waits = 0
  const draining = createRig([slowDown(60)], () => waits++)
  const log = await runOn(draining, [asked], { isDraining: () => waits > 2 })
  assert.equal(errorsOf(log).at(-1)?.retry_status.type, 'retrying')
  for (const { bodies, waitedMs } of [stopping, draining]) assert.ok(bodies.length === 1 && waitedMs() < 3_000)
})

test('a prompt whose key was revoked makes no model call', async () => {
  const rig = createRig(['done'])
  const log = await runOn(rig, [asked], { payer: async () => undefined })
  assert.equal(rig.bodies.length, 0)
  assert.match(errorsOf(log).at(-1)?.message ?? '', /key that queued the prompt was revoked/)
  assert.deepEqual(typesOf(log).slice(-2), ['span.model_request_end', 'session.error'])
})
