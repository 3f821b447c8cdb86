import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOver, prompt, rigOver, session } from '../../../../../test/support/sessions/builtin-rig.ts'
import { fullUsage, messageFrames } from '../../../../../test/support/upstream/message-frames.ts'
import { budgetReached, type NewEvent, type NewEventOf } from '../../../../contract/events.ts'
import type { Call, Sink } from '../../../gateway/core/call.ts'
import { wholeEchoes } from '../../../platform/echoes.ts'
import { AppError } from '../../../platform/errors.ts'
import type { CustomToolEnd } from '../../../tools/custom-tools.ts'
import { partsOf, type RunContext, type RunPrompt } from '../../runtime.ts'
import { builtinRuntime } from '../runtime.ts'
import { OutcomeProgress } from './progress.ts'

const outcome = {
  outcome_id: 'outc_1',
  description: 'Write a haiku',
  rubric: '- Has three lines',
  max_iterations: 3,
  model: null,
}
const wanted: RunPrompt = { ...prompt, outcome }
const asked: NewEvent = { type: 'user.message', prompt_id: prompt.id, content: prompt.parts }

const verdict = (result: string, explanation = `because ${result}`) => JSON.stringify({ result, explanation })

interface Body {
  readonly model: string
  readonly system: { readonly text: string }[]
  readonly messages: { readonly role: string; readonly content: { readonly text?: string }[] }[]
}

/**
 * Answers the agent with its number of answers, or with a call of `ring` where that number is in `ringsAt`, and the grader with
 * what `grades` has for each of its requests.
 */
function rigSaying(
  grades: readonly (string | Error)[],
  onGrade: (at: number) => void = () => undefined,
  ringsAt: readonly number[] = [],
) {
  const work: Body[] = []
  const graded: Body[] = []
  const answerTo = (body: Body): string => {
    if (!body.system[0]?.text.startsWith('You are a grader')) return `answer ${work.push(body)}`
    const grade = grades[graded.push(body) - 1] ?? 'no more'
    onGrade(graded.length - 1)
    if (grade instanceof Error) throw grade
    return grade
  }
  const gateway = {
    echoes: () => wholeEchoes([]),
    async call({ body }: Call, sink: Sink) {
      const text = answerTo(JSON.parse(body.toString()))
      const message = { id: 'm', type: 'message', role: 'assistant', model: 'demo', stop_sequence: null } as const
      const isRing = ringsAt.some(at => text === `answer ${at}`)
      const ring = { type: 'tool_use', id: 'toolu_1', name: 'ring', input: {} } as const
      const content = [isRing ? ring : ({ type: 'text', text } as const)]
      const stop_reason = isRing ? 'tool_use' : 'end_turn'
      sink.head(200, {})
      for (const frame of messageFrames({ ...message, content, stop_reason, usage: fullUsage(10, 5) }))
        sink.data(Buffer.from(frame))
      sink.end()
      return {
        outcome: 'completed',
        status: 200,
        stopReason: undefined,
        usage: {} as never,
        firstContentMs: 1,
      } as const
    },
  }
  return { work, graded, deps: { gateway, ...rigOver([]) } }
}

interface Options {
  readonly asking?: RunPrompt
  readonly changes?: Partial<RunContext>
  /** Batches that are stored before the process is killed. */
  readonly batches?: number
  readonly tools?: readonly object[]
}

/** Runs or resumes `log`; returns the log. */
async function runOn(
  { deps }: ReturnType<typeof rigSaying>,
  log: readonly NewEvent[],
  { asking = wanted, changes = {}, batches = 100, tools }: Options = {},
) {
  const stored = [...log]
  let left = batches
  const numbered = log.map((event, at) => ({ ...event, seq: at + 1 }))
  const context = contextOver(numbered, { prompts: async () => [asking], ...changes })
  for await (const batch of builtinRuntime(deps).run({ ...session, ...(tools && { tools }) }, asking, context)) {
    if (left-- <= 0) break
    stored.push(...partsOf(batch).events)
  }
  return stored
}

const ofType = <T extends NewEvent['type'] & string>(log: readonly NewEvent[], type: T) =>
  log.filter((event): event is Extract<NewEvent, { type: T }> => event.type === type)
const ends = (log: readonly NewEvent[]) => ofType(log, 'span.outcome_evaluation_end')
const rounds = (log: readonly NewEvent[]) => ends(log).map(({ iteration, result }) => `${iteration} ${result}`)
const lastOf = (log: readonly NewEvent[]) => log.at(-1) as NewEventOf<'session.status_idle'>
const textsOf = ({ messages }: Body) => messages.map(({ content }) => content.map(({ text = '' }) => text).join('\n'))

test('a satisfied grader ends the run, and the verdict is in its last event', async () => {
  const rig = rigSaying([verdict('satisfied')])
  const log = await runOn(rig, [asked])
  assert.deepEqual(rounds(log), ['0 satisfied'])
  assert.deepEqual(lastOf(log).outcome, {
    outcome_id: 'outc_1',
    iteration: 0,
    result: 'satisfied',
    explanation: 'because satisfied',
  })
  assert.deepEqual(lastOf(log).stop_reason, { type: 'end_turn' })
  const [start] = ofType(log, 'span.outcome_evaluation_start')
  const [end] = ends(log)
  assert.equal(end?.outcome_evaluation_start_id, start?.id)
  assert.equal(end?.usage.output_tokens, 5)
  assert.equal(ofType(log, 'span.outcome_evaluation_ongoing').length, 1)
})

test('the grader sees the task, the rubric and the work, and not the context of the agent', async () => {
  const rig = rigSaying([verdict('satisfied')])
  await runOn(rig, [asked], { asking: { ...wanted, outcome: { ...outcome, model: 'judge' } } })
  const [body] = rig.graded
  assert.equal(body?.model, 'judge')
  const [text = '', ...more] = body ? textsOf(body) : []
  assert.deepEqual(more, [])
  for (const part of ['Write a haiku', '- Has three lines', 'User: Go', 'Assistant: answer 1'])
    assert.ok(text.includes(part), part)
})

test('feedback is the next turn of the same run', async () => {
  const rig = rigSaying([verdict('needs_revision', 'only two lines'), verdict('satisfied')])
  const log = await runOn(rig, [asked])
  assert.deepEqual(rounds(log), ['0 needs_revision', '1 satisfied'])
  const [, second] = rig.work
  const [, answer, feedback = ''] = second ? textsOf(second) : []
  assert.equal(answer, 'answer 1')
  assert.match(feedback, /<feedback>\nonly two lines\n<\/feedback>/)
})

test('after the last evaluation the agent has a final turn without another one', async () => {
  const rig = rigSaying([verdict('needs_revision'), verdict('needs_revision')])
  const log = await runOn(rig, [asked], { asking: { ...wanted, outcome: { ...outcome, max_iterations: 2 } } })
  assert.deepEqual(rounds(log), ['0 needs_revision', '1 max_iterations_reached'])
  assert.equal(rig.work.length, 3)
  assert.match(rig.work[2] ? (textsOf(rig.work[2]).at(-1) ?? '') : '', /No further evaluation follows/)
  assert.equal(lastOf(log).outcome?.result, 'max_iterations_reached')
})

test('a rubric that does not apply ends the run as failed', async () => {
  const log = await runOn(rigSaying([verdict('failed', 'no haiku can have four')]), [asked])
  assert.deepEqual(rounds(log), ['0 failed'])
  assert.equal(lastOf(log).stop_details?.message, 'evaluation failed: no haiku can have four')
})

for (const [what, answer, problem] of [
  ['prose', 'Looks good to me', 'is not JSON'],
  ['another value', '[1]', 'is not a JSON object'],
  ['an unknown verdict', '{"result":"great","explanation":"x"}', 'has no result that is one of'],
  ['a verdict without an explanation', '{"result":"satisfied"}', 'has no explanation'],
] as const) {
  test(`a grader that answers ${what} is asked once more`, async () => {
    const rig = rigSaying([answer, verdict('satisfied')])
    const log = await runOn(rig, [asked])
    assert.deepEqual(rounds(log), ['0 satisfied'])
    assert.ok(ofType(log, 'session.error')[0]?.error.problem?.startsWith(problem))
    assert.ok(textsOf(rig.graded[1] as Body)[0]?.includes(`Your last answer ${problem}`))
    assert.equal(ends(log)[0]?.usage.output_tokens, 10)
  })
}

test('a grader that answers nonsense twice ends the evaluation as failed', async () => {
  const rig = rigSaying(['no', 'still no', verdict('satisfied')])
  const log = await runOn(rig, [asked])
  assert.deepEqual(rounds(log), ['0 failed'])
  assert.equal(ends(log)[0]?.explanation, 'the answer of the grader is not JSON; it had a second try')
  assert.equal(rig.graded.length, 2)
})

test('a grader that cannot be asked ends the evaluation and the run', async () => {
  const log = await runOn(rigSaying([new AppError('not_found', 'model judge not found')]), [asked])
  assert.deepEqual(rounds(log), ['0 failed'])
  assert.equal(ends(log)[0]?.explanation, 'the grader could not be asked: model judge not found')
  assert.equal(log.at(-1)?.error?.message, 'model judge not found')
})

test('an evaluation that a budget stops continues later', async () => {
  const cause = {
    type: 'budget_reached',
    scope: 'session',
    scope_id: 'ses_1',
    max_usd: 1,
    needed_usd: 2,
    resets_at: null,
  }
  const stop = new AppError('budget_exceeded', 'budget of session ses_1 is used up', { cause })
  const paused = await runOn(rigSaying([stop]), [asked])
  const last = paused.at(-1)
  assert.deepEqual([last && budgetReached(last)?.type, rounds(paused)], ['budget_reached', []])
  const rig = rigSaying([verdict('satisfied')])
  const log = await runOn(rig, paused)
  assert.deepEqual([rounds(log), rig.work.length, rig.graded.length], [['0 satisfied'], 0, 1])
})

test('an interrupt during the evaluation ends it', async () => {
  const stop = new AbortController()
  const rig = rigSaying([verdict('satisfied')], () => stop.abort())
  const log = await runOn(rig, [asked], { changes: { signal: stop.signal } })
  assert.deepEqual(rounds(log), ['0 interrupted'])
})

test('wherever the process is killed, the rounds are the same', async () => {
  const grades = [verdict('needs_revision'), 'nonsense', verdict('needs_revision'), verdict('satisfied')]
  const whole = await runOn(rigSaying(grades), [asked])
  assert.deepEqual(rounds(whole), ['0 needs_revision', '1 needs_revision', '2 satisfied'])
  for (let batches = 0; ; batches++) {
    const first = rigSaying(grades)
    const cut = await runOn(first, [asked], { batches })
    if (cut.length === whole.length) break
    // What was answered and stored is not asked again; an answer that was not stored is.
    const answered = ends(cut).length + ofType(cut, 'session.error').length
    const log = await runOn(rigSaying(grades.slice(answered)), cut)
    assert.deepEqual(rounds(log), rounds(whole), `killed after ${batches} batches`)
    assert.equal(ofType(log, 'agent.message').length, 3, `killed after ${batches} batches`)
    assert.equal(lastOf(log).outcome?.result, 'satisfied')
  }
})

test('a revision may call a tool of a client: the run parks, and the grader judges what follows the answer', async () => {
  const grades = [verdict('needs_revision'), verdict('satisfied')]
  const tools = [{ type: 'custom', name: 'ring', description: 'Rings', input_schema: { type: 'object' } }]
  const end: CustomToolEnd = { state: 'answered', content: [{ type: 'text', text: 'rung' }], is_error: false }
  const first = rigSaying(grades, undefined, [2])
  const began: NewEvent = { type: 'session.status_running', prompt_id: prompt.id, run_id: 'run_1' }
  const parked = await runOn(first, [asked, began], { tools, changes: { customToolEnd: async () => undefined } })
  assert.deepEqual([rounds(parked), lastOf(parked).stop_reason?.type], [['0 needs_revision'], 'requires_action'])
  const [use] = ofType(parked, 'agent.custom_tool_use')
  const { content } = end
  const answer: NewEvent = { type: 'user.custom_tool_result', custom_tool_use_id: use?.id ?? '', content: [...content] }
  const whole = { changes: { customToolEnd: async () => end } }
  for (let batches = 0; batches < 4; batches++) {
    // The tool is gone by then.
    const cut = await runOn(rigSaying(grades.slice(1)), [...parked, answer], { ...whole, batches })
    const rig = rigSaying(grades.slice(1))
    const log = await runOn(rig, cut, whole)
    assert.deepEqual(rounds(log), ['0 needs_revision', '1 satisfied'], `killed after ${batches} batches`)
    assert.equal(lastOf(log).outcome?.result, 'satisfied')
    assert.equal(ofType(log, 'agent.tool_result').length, 0)
    assert.match(textsOf(rig.graded[0] ?? assert.fail()).join(), /rung/)
  }
})

test('a prompt without an outcome is not evaluated', async () => {
  const rig = rigSaying([])
  const log = await runOn(rig, [asked], { asking: prompt })
  assert.deepEqual([rig.graded.length, lastOf(log).outcome], [0, undefined])
})

test('a compaction keeps the last verdict, and a fork continues no evaluation of another prompt', () => {
  const progress = new OutcomeProgress()
  const last = { outcome_id: 'outc_1', result: 'needs_revision', iteration: 1, explanation: 'short' } as const
  progress.add({
    type: 'agent.thread_context_compacted',
    summary: 'Once',
    kept_from_seq: 9,
    waiting_seqs: [],
    prompt_ids: [],
    tokens_before: 2,
    tokens_after: 1,
    reason: 'auto',
    outcome: last,
  })
  assert.deepEqual(progress.verdictOn(outcome), last)
  assert.equal(progress.verdictOn({ outcome_id: 'outc_2' }), undefined)
  progress.add({ id: 'evt_1', type: 'span.outcome_evaluation_start', outcome_id: 'outc_1', iteration: 2 })
  assert.equal(progress.copy().evaluationOf(outcome)?.iteration, 2)
  assert.equal(progress.evaluationOf({ outcome_id: 'outc_2' }), undefined)
  assert.equal(progress.evaluationOf(null), undefined)
})
