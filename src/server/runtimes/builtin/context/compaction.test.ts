import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rigOver } from '../../../../../test/support/sessions/builtin-rig.ts'
import { promptOf, runRig, sessionWith } from '../../../../../test/support/sessions/run-rig.ts'
import {
  factsIn,
  smallWindow,
  type WindowAnswer,
  type WindowRequest,
  wordsOf,
} from '../../../../../test/support/sessions/small-window.ts'
import { type BudgetReached, contextCompacted, type SessionEvent } from '../../../../contract/events.ts'
import { AppError } from '../../../platform/errors.ts'
import { builtinRuntime } from '../runtime.ts'
import type { ModelLimits } from './limits.ts'

const filler = 'There is more to say about this than fits into one line, and so it goes on for a while. '.repeat(3)
const window = 4_750

/** A model that knows the facts in its request; its summary repeats them. */
const knows = (request: WindowRequest): WindowAnswer => ({
  text: `${factsIn(wordsOf(request)).join(' ')}. ${request.isSummary ? '' : filler}`,
})

interface Options {
  readonly says?: (request: WindowRequest, index: number) => WindowAnswer
  readonly limits?: ModelLimits
  readonly config?: Record<string, unknown>
  readonly window?: number
  readonly before?: (request: WindowRequest) => void
}

function createRig({
  says = knows,
  limits = { contextWindow: window },
  config = {},
  window: real = window,
  before = () => undefined,
}: Options = {}) {
  const model = smallWindow({ window: real, answer: says, before })
  const rig = runRig(sessionWith({ tools: [], config }))
  const deps = rigOver([])
  const runtime = builtinRuntime({ ...deps, gateway: model, modelLimits: () => limits, wait: async () => undefined })
  return {
    ...rig,
    model,
    runtime,
    say: (text: string, changes?: Parameters<typeof rig.run>[2]) => rig.run(runtime, promptOf(text), changes),
    compactions: () => rig.log.flatMap(event => contextCompacted(event) ?? []),
    errors: () =>
      rig.log.flatMap(({ type, error }) =>
        type === 'session.error' ? [error as { type: string; message: string }] : [],
      ),
    answer: () => JSON.stringify(rig.log.findLast(({ type }) => type === 'agent.message')?.['content']),
  }
}

const spansOf = (log: readonly SessionEvent[]) => log.filter(({ type }) => type.startsWith('span.'))

test('a session with a small context window runs 60 turns, never exceeds it, and keeps facts from the first turn', async () => {
  const rig = createRig()
  for (let turn = 1; turn <= 60; turn++) await rig.say(`Remember FACT-${turn}. ${filler}`)
  await rig.say('What do you know?')
  assert.deepEqual(rig.model.rejected, [])
  for (const { tokens, max_tokens } of rig.model.requests) assert.ok(tokens + max_tokens <= window)
  assert.equal(factsIn(rig.answer()).length, 60)
  assert.ok(rig.compactions().length >= 3 && rig.compactions().length < 20, `${rig.compactions().length} compactions`)
  for (const { tokens_before, tokens_after, reason } of rig.compactions()) {
    assert.ok(tokens_after < tokens_before)
    assert.equal(reason, 'auto')
  }
  assert.deepEqual(rig.errors(), [])
})

test('a summary is a model request of the session, with a span and tokens in the totals', async () => {
  const rig = createRig()
  for (let turn = 1; rig.compactions().length === 0; turn++) await rig.say(`Remember FACT-${turn}. ${filler}`)
  const starts = rig.log.filter(({ type }) => type === 'span.model_request_start')
  assert.equal(starts.filter(({ purpose }) => purpose === 'compaction').length, 1)
  const ends = rig.log.filter(({ type }) => type === 'span.model_request_end')
  assert.equal(ends.length, starts.length)
  const sum = ends.reduce((total, { model_usage }) => total + (model_usage as { input_tokens: number }).input_tokens, 0)
  const { usage } = rig.log.findLast(({ type }) => type === 'session.usage') as unknown as {
    usage: { input_tokens: number }
  }
  assert.equal(usage.input_tokens, sum)
})

/** A model that calls a tool `n` times, each with a long result, and then answers with what it knows. */
const reads = (times: number) => (request: WindowRequest) => {
  const results = request.messages.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_result')
  if (request.isSummary || results.length >= times) return knows(request)
  return { text: 'I read.', tools: [{ name: 'read', input: { file_path: 'a.txt' } }] }
}

test('old tool results are trimmed before a summary is made, and the newest stays whole', async () => {
  const long = `FACT-1 ${'x'.repeat(3_000)}`
  const model = smallWindow({ window: 16_000, answer: reads(20) })
  const rig = runRig()
  const deps = rigOver([])
  const sandbox = { files: { read: async () => Buffer.from(long) } }
  const sandboxes = { ...deps.sandboxes, open: async () => sandbox as never }
  const runtime = builtinRuntime({ ...deps, sandboxes, gateway: model, modelLimits: () => ({ contextWindow: 16_000 }) })
  await rig.run(runtime, promptOf('Read it again and again'))
  const trims = rig.log.filter(({ trimmed_until }) => trimmed_until !== undefined)
  assert.ok(trims.length >= 1, 'results were trimmed')
  assert.deepEqual(
    rig.log.filter(({ type }) => type === 'agent.thread_context_compacted'),
    [],
  )
  const last = model.requests
    .at(-1)
    ?.messages.flatMap(({ content }) => content)
    .filter(({ type }) => type === 'tool_result')
  const texts = last?.map(({ content }) => JSON.stringify(content)) ?? []
  assert.match(texts[0] ?? '', /trimmed to save room: this result had 2\d{3} characters/)
  assert.match(texts.at(-1) ?? '', /FACT-1/)
  assert.deepEqual(
    rig.log.filter(({ type }) => type === 'session.error'),
    [],
  )
})

test('a compaction in the log is not requested again, wherever the run is interrupted', async () => {
  for (let cut = 0; cut < 6; cut++) {
    const rig = createRig()
    for (let turn = 1; turn <= 5; turn++) await rig.say(`Remember FACT-${turn}. ${filler}`)
    const prompt = promptOf(`Remember FACT-9. ${filler.repeat(20)}`)
    let batches = 0
    await rig.run(rig.runtime, prompt, { onBatch: () => batches++ === cut })
    const wasLogged = rig.compactions().length > 0
    const paid = () => rig.model.requests.filter(({ isSummary }) => isSummary).length
    const before = paid()
    await rig.run(rig.runtime, prompt, { isResumed: true })
    assert.equal(rig.compactions().length, 1)
    if (wasLogged) assert.equal(paid(), before, `cut after batch ${cut}`)
    assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
    assert.deepEqual(factsIn(rig.answer()).length, 6)
    const spans = spansOf(rig.log)
    assert.equal(spans.filter(({ type }) => type.endsWith('start')).length * 2, spans.length)
  }
})

test('a request that the model rejects as too long is repeated once after a compaction', async () => {
  // The context window is unknown, and smaller than the assumed one.
  const rig = createRig({ limits: {}, config: { max_tokens: 500 } })
  for (let turn = 1; turn <= 40; turn++) await rig.say(`Remember FACT-${turn}. ${filler}`)
  assert.ok(rig.model.rejected.some(({ isSummary }) => !isSummary))
  assert.ok(rig.compactions().length > 0)
  assert.equal(factsIn(rig.answer()).length, 40)
  assert.deepEqual(rig.errors(), [])
})

test('a request that is still too long fails the run with a clear error, and the next prompt runs', async () => {
  const rig = createRig({ limits: {}, config: { max_tokens: 500 } })
  const system = 'This system prompt is long. '.repeat(800)
  await rig.run(rig.runtime, promptOf('Hello', { system }))
  assert.equal(rig.errors().at(-1)?.type, 'compaction_limit_reached_error')
  assert.match(
    rig.errors().at(-1)?.message ?? '',
    /prompt is too long: \d+ tokens > 4750 maximum; the conversation is already compacted/,
  )
  await rig.say('FACT-1')
  assert.match(rig.answer(), /FACT-1/)
})

test('a prompt that exceeds the context window even after a compaction fails before any model request', async () => {
  const rig = createRig()
  await rig.say(`Read this. ${filler.repeat(70)}`)
  assert.deepEqual([rig.model.requests, rig.compactions()], [[], []])
  assert.equal(rig.errors().at(-1)?.type, 'compaction_limit_reached_error')
  assert.match(
    rig.errors().at(-1)?.message ?? '',
    /prompt \(about \d+ tokens\) and .* exceed the context window of model demo \(4750\)/,
  )
  await rig.say('FACT-1')
  assert.match(rig.answer(), /FACT-1/)
})

test('a model that returns no summary does not stop the session: a shortened transcript replaces it', async () => {
  const rig = createRig({ says: request => (request.isSummary ? { text: '' } : knows(request)) })
  for (let turn = 1; turn <= 30; turn++) await rig.say(`Remember FACT-${turn}. ${filler}`)
  assert.ok(rig.compactions().length > 0)
  assert.deepEqual(rig.errors(), [])
})

test('a compaction request summarizes everything, in one batch with the end of its run', async () => {
  const rig = createRig()
  await rig.say('Remember FACT-1.')
  await rig.say('Remember FACT-2.')
  const compact = () => rig.run(rig.runtime, promptOf('', { kind: 'compact', parts: [] }))
  await compact()
  const [compaction] = rig.compactions()
  assert.deepEqual([compaction?.reason, factsIn(compaction?.summary ?? '')], ['request', ['FACT-1', 'FACT-2']])
  assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
  await rig.say('What do you know?')
  assert.equal(factsIn(rig.answer()).length, 2)
  assert.equal(rig.model.requests.at(-1)?.messages.length, 1, 'a summary, and the prompt behind it')
})

test('a compaction request in a new session does nothing', async () => {
  const rig = createRig()
  await rig.run(rig.runtime, promptOf('', { kind: 'compact', parts: [] }))
  assert.deepEqual(rig.model.requests, [])
  assert.equal(JSON.stringify(rig.log.at(-1)?.stop_details).includes('nothing_to_compact'), true)
})

/** Prompts up to the one whose request does not fit. */
async function fill(rig: ReturnType<typeof createRig>, until: () => boolean): Promise<void> {
  for (let turn = 1; !until(); turn++) await rig.say(`Remember FACT-${turn}. ${filler}`)
}

test('the request for a summary starts like the previous request and is marked for the prompt cache', async () => {
  const rig = createRig()
  await fill(rig, () => rig.compactions().length > 0)
  const at = rig.model.requests.findIndex(({ isSummary }) => isSummary)
  const blocksOf = (index: number) => rig.model.requests[index]?.messages.flatMap(({ content }) => content) ?? []
  const summarized = blocksOf(at).slice(0, -1)
  assert.deepEqual(summarized.at(-1)?.['cache_control'], { type: 'ephemeral' })
  const unmarked = (blocks: typeof summarized) => blocks.map(({ cache_control: _, ...block }) => block)
  assert.deepEqual(unmarked(summarized), unmarked(blocksOf(at - 1)).slice(0, summarized.length))
  assert.deepEqual(rig.model.requests[at]?.tools, rig.model.requests[at - 1]?.tools)
  assert.deepEqual(rig.model.requests[at]?.system, rig.model.requests[at - 1]?.system)
  const after = blocksOf(at + 1)
  assert.deepEqual(after.at(-1)?.['cache_control'], { type: 'ephemeral' })
})

const usedUp: BudgetReached = {
  type: 'budget_reached',
  scope: 'session',
  scope_id: 'ses_1',
  max_usd: 0.01,
  needed_usd: 0.0042,
  resets_at: null,
}

test('a summary that exceeds the budget pauses the run, and is made once the budget has room', async () => {
  let hasRoom = false
  const before = ({ isSummary }: WindowRequest) => {
    if (isSummary && !hasRoom) throw new AppError('budget_exceeded', 'used up', { cause: usedUp })
  }
  const rig = createRig({ before })
  const isPaused = () => JSON.stringify(rig.log.at(-1)?.stop_reason ?? '').includes('budget_reached')
  await fill(rig, isPaused)
  assert.deepEqual(rig.compactions(), [])
  const paused = rig.log.findLast(({ type }) => type === 'user.message')
  hasRoom = true
  const prompt = promptOf('', { id: String(paused?.prompt_id), parts: paused?.content as [] })
  await rig.run(rig.runtime, prompt, { isResumed: true })
  assert.equal(rig.compactions().length, 1)
  assert.ok(factsIn(rig.answer()).length > 3)
})

test('a run that is stopped during a summary records its usage and shows no text of it', async () => {
  const stop = new AbortController()
  const rig = createRig({ before: ({ isSummary }) => (isSummary ? stop.abort() : undefined) })
  for (let turn = 1; !stop.signal.aborted; turn++) {
    await rig.say(`Remember FACT-${turn}. ${filler}`, { signal: stop.signal })
  }
  assert.deepEqual(rig.compactions(), [])
  const begun = rig.log.findLastIndex(({ type }) => type === 'span.model_request_start')
  const [start, end, ...rest] = rig.log.slice(begun)
  assert.deepEqual(
    [start?.purpose, end?.interrupted, rest.map(({ type }) => type)],
    ['compaction', true, ['session.usage']],
  )
})
