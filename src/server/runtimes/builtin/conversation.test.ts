import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { contextCompacted, isRetainedBy, type NewEvent, type SessionEvent } from '../../../contract/events.ts'
import { cutOf } from './context/cut.ts'
import { Conversation } from './conversation.ts'

/** A step of a session. */
type Act =
  | { readonly does: 'queue' | 'withdraw' | 'fail' }
  | { readonly does: 'step'; readonly tools: number; readonly trims: boolean; readonly counts: boolean }
  | { readonly does: 'compact'; readonly kept: number }

const acts = fc.array(
  fc.oneof(
    fc.record({ does: fc.constantFrom('queue' as const, 'withdraw' as const, 'fail' as const) }),
    fc.record({
      does: fc.constant('step' as const),
      tools: fc.nat({ max: 3 }),
      trims: fc.boolean(),
      counts: fc.boolean(),
    }),
    fc.record({ does: fc.constant('compact' as const), kept: fc.nat({ max: 400 }) }),
  ),
  { maxLength: 25 },
)

const text = (said: string) => [{ type: 'text', text: said } as const]
const usage = { input_tokens: 90, output_tokens: 10 }

/** The log of the steps `does`: a run includes waiting prompts, and a compaction cuts as the runtime does. */
function logOf(does: readonly Act[]): SessionEvent[] {
  const log: SessionEvent[] = []
  const conversation = new Conversation()
  let waiting: string[] = []
  let running: string[] = []
  const add = (event: NewEvent) => {
    const stored = { id: `evt_${log.length}`, processed_at: '2026-01-01T00:00:00.000Z', ...event, seq: log.length + 1 }
    log.push(stored)
    conversation.add(stored)
  }
  const step = ({ tools, trims, counts }: Extract<Act, { does: 'step' }>) => {
    const until = trims ? conversation.transcript.wholeResults.at(0)?.id : undefined
    add({ type: 'span.model_request_start', prompt_ids: waiting, ...(until !== undefined && { trimmed_until: until }) })
    running = [...running, ...waiting]
    waiting = []
    const calls = Array.from({ length: tools }, (_, at) => `toolu_${log.length}_${at}`)
    add({ type: 'agent.message', content: text(`step ${log.length}`) })
    for (const id of calls) add({ type: 'agent.tool_use', tool_use_id: id, name: 'read', input: {} })
    add({ type: 'span.model_request_end', is_error: null, model_usage: counts ? usage : null })
    for (const id of calls) add({ type: 'agent.tool_result', tool_use_id: id, content: text('long '.repeat(40)) })
    if (tools === 0) {
      add({ type: 'session.status_idle', prompt_id: running[0] ?? '', stop_reason: { type: 'end_turn' } })
      running = []
    }
  }
  const compact = (retained: number) => {
    const cut = cutOf(conversation.transcript, { retained, newest: retained * 2 })
    if (!cut) return
    const from = cut.from ?? log.length + 1
    const waits = conversation.waitingAt(from)
    add({ type: 'span.model_request_start', prompt_ids: [], purpose: 'compaction' })
    add({ type: 'span.model_request_end', is_error: null, model_usage: usage })
    add({ type: 'session.usage', usage: conversation.usageWith(undefined) })
    const prompts = running.filter(id => conversation.includes(id))
    const fields = { kept_from_seq: from, waiting_seqs: waits, prompt_ids: prompts, tokens_before: 2, tokens_after: 1 }
    add({ type: 'agent.thread_context_compacted', summary: `summary ${log.length}`, reason: 'auto', ...fields })
  }
  for (const [at, act] of does.entries()) {
    if (act.does === 'queue') {
      waiting.push(`msg_${at}`)
      add({ type: 'user.message', prompt_id: `msg_${at}`, content: text(`prompt ${at}`) })
    } else if (act.does === 'withdraw' && waiting.length > 0) {
      const prompt_id = waiting.pop() ?? assert.fail('no prompt')
      add({ type: 'session.prompt_ended', prompt_id, run_id: null, state: 'cancelled', reason: 'withdrawn' })
    } else if (act.does === 'fail') {
      add({ type: 'span.model_request_start', prompt_ids: [] })
      add({ type: 'span.model_request_end', is_error: true, model_usage: null })
    } else if (act.does === 'step') step(act)
    else if (act.does === 'compact') compact(act.kept)
  }
  return log
}

const told = (log: readonly SessionEvent[]): Conversation => {
  const conversation = new Conversation()
  for (const event of log) conversation.add(event)
  return conversation
}

/** The events that a cold start reads. */
function tailOf(log: readonly SessionEvent[]): SessionEvent[] {
  const last = log.map(contextCompacted).findLast(Boolean)
  return last ? log.filter(({ seq }) => isRetainedBy(last, seq)) : [...log]
}

const asData = (conversation: Conversation, log: readonly SessionEvent[]) => ({
  messages: conversation.transcript.messages,
  tokens: conversation.transcript.tokens(7),
  parts: conversation.transcript.tokensFrom(0),
  steps: conversation.transcript.steps,
  results: conversation.transcript.wholeResults,
  waiting: conversation.waitingAt(Number.POSITIVE_INFINITY),
  usage: conversation.usageWith(undefined),
  isAsCompacted: conversation.transcript.isAsCompacted,
  open: conversation.openToolUses,
  // Only prompts of the current run are requested.
  running: runningIn(log).map(id => conversation.includes(id)),
})

function runningIn(log: readonly SessionEvent[]): string[] {
  const end = log.findLastIndex(({ type }) => type === 'session.status_idle')
  return log.slice(end + 1).flatMap(({ prompt_ids }) => (prompt_ids ?? []) as string[])
}

test('the log from the last compaction gives the same conversation as the whole log', () => {
  fc.assert(
    fc.property(acts, does => {
      const log = logOf(does)
      assert.deepEqual(asData(told(tailOf(log)), log), asData(told(log), log))
    }),
    { numRuns: 500 },
  )
})

test('a compaction at any place leaves a valid conversation: calls and results stay together', () => {
  fc.assert(
    fc.property(acts, does => {
      const { messages } = told(tailOf(logOf(does))).transcript
      for (const [at, { role, content }] of messages.entries()) {
        if (at > 0) assert.notEqual(role, messages[at - 1]?.role)
        const uses = content.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
        const next = messages[at + 1]?.content ?? []
        const results = next.filter(({ type }) => type === 'tool_result').map(({ tool_use_id }) => tool_use_id)
        assert.deepEqual(results, uses)
      }
    }),
    { numRuns: 300 },
  )
})

test('the tokens of the next request are the count of the last one plus an estimate of what was added', () => {
  const conversation = new Conversation()
  conversation.add({ type: 'user.message', prompt_id: 'a', content: text('Hello') })
  conversation.add({ type: 'span.model_request_start', prompt_ids: ['a'] })
  assert.equal(conversation.transcript.tokens(1_000), 1_000 + conversation.transcript.tokensFrom(0))
  conversation.add({ type: 'agent.tool_use', tool_use_id: 't', name: 'read', input: {} })
  conversation.add({
    type: 'span.model_request_end',
    is_error: null,
    model_usage: { input_tokens: 5_000, output_tokens: 20 },
  })
  assert.equal(conversation.transcript.tokens(1_000), 5_020)
  const before = conversation.transcript.tokensFrom(0)
  conversation.add({ type: 'agent.tool_result', tool_use_id: 't', content: text('x'.repeat(700)) })
  assert.equal(conversation.transcript.tokens(1_000), 5_020 + conversation.transcript.tokensFrom(0) - before)
  // An interrupted answer is counted as well.
  conversation.add({ type: 'span.model_request_end', is_error: true, model_usage: null })
  assert.equal(conversation.transcript.tokens(1_000), 5_020 + conversation.transcript.tokensFrom(0) - before)
})

test('arguments that are not an object are sent as one: providers reject a text, which would end the session', () => {
  const conversation = new Conversation()
  const use = { type: 'agent.tool_use', tool_use_id: 'toolu_1', name: 'bash', evaluated_permission: 'allow' } as const
  conversation.add({
    id: 'evt_1',
    seq: 1,
    ...use,
    input: `{"command":"${'x'.repeat(5_000)}`,
  } as unknown as SessionEvent)
  const [block] = conversation.transcript.messages.at(-1)?.content ?? []
  assert.deepEqual(Object.keys(block?.['input'] as object), ['invalid_arguments'])
  assert.ok(JSON.stringify(block).length < 3_000)
  assert.match(String(conversation.openToolUses[0]?.input), /^{"command"/)
})
