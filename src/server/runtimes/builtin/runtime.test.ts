import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { contextOver, prompt, rigOver, session } from '../../../../test/support/sessions/builtin-rig.ts'
import { scriptedModel } from '../../../../test/support/sessions/scripted-model.ts'
import type { ScriptedBlock } from '../../../../test/support/upstream/message-frames.ts'
import type { NewEvent } from '../../../contract/events.ts'
import { partsOf, type RunContext } from '../runtime.ts'
import type { Message } from './context/blocks.ts'
import { Conversation } from './conversation.ts'
import { builtinRuntime } from './runtime.ts'

/** One turn of the model: text, and calls of tools that may or may not be repeatable. */
interface Turn {
  readonly text: string
  readonly tools: readonly ('bash' | 'read')[]
}

const asked: NewEvent = { type: 'user.message', prompt_id: prompt.id, content: prompt.parts }

/** A model that follows its script depending on the conversation, and answers "done" at its end. */
const scriptedGateway = (turns: readonly Turn[], isCut: (call: number) => boolean = () => false) =>
  scriptedModel<{ messages: Message[] }>(at => blocksOf(turns[at], at), { isCut })

function blocksOf(turn: Turn | undefined, at: number): ScriptedBlock[] {
  const content: ScriptedBlock[] = [{ type: 'text', text: turn?.text ?? 'done' }]
  for (const [number, name] of (turn?.tools ?? []).entries()) {
    const input = name === 'bash' ? { command: `run ${at}-${number}` } : { file_path: 'a.txt' }
    content.push({ type: 'tool_use', id: `toolu_${at}_${number}`, name, input })
  }
  return content
}

/** A runtime with that model, and the commands that it ran. */
const createRig = (gateway: ReturnType<typeof scriptedGateway>, ran: string[]) =>
  builtinRuntime({ gateway, ...rigOver(ran), wait: async () => undefined })

type Rig = ReturnType<typeof createRig>

/** Resumes `log` until `batches` were stored, as a process that is then killed; returns the log. */
async function runOn(
  rig: Rig,
  log: readonly NewEvent[],
  batches = Number.POSITIVE_INFINITY,
  changes?: Partial<RunContext>,
) {
  const stored = [...log]
  let left = batches
  for await (const batch of rig.run(session, prompt, contextOver(log, changes))) {
    if (left-- <= 0) break
    stored.push(...partsOf(batch).events)
  }
  return stored
}

const isOver = (log: readonly NewEvent[]) => log.at(-1)?.type === 'session.status_idle'

/** The conversation without the texts of results: after a crash the outcome of a call may be unknown. */
function told(log: readonly NewEvent[]): string[] {
  return log.flatMap(event => {
    if (event.type.startsWith('span.') || event.type === 'session.usage') return []
    if (event.type === 'agent.tool_result') return [`result ${event.tool_use_id}`]
    return [`${event.type} ${JSON.stringify(event.content ?? event.input ?? null)}`]
  })
}

/** Results of concurrent tools arrive in any order. */
const inAnyOrder = (lines: readonly string[]) => lines.toSorted()

const turns = fc.array(
  fc.record({
    text: fc.constantFrom('I look.', 'Next.', 'And now this.'),
    tools: fc.array(fc.constantFrom('bash' as const, 'read' as const), { minLength: 1, maxLength: 3 }),
  }),
  { maxLength: 4 },
)

test('a run that is interrupted anywhere, any number of times, has the same log as one that is not', async () => {
  await fc.assert(
    fc.asyncProperty(turns, fc.array(fc.nat({ max: 6 }), { maxLength: 4 }), async (script, cuts) => {
      const wholeRan: string[] = []
      const whole = await runOn(createRig(scriptedGateway(script), wholeRan), [asked])
      assert.ok(isOver(whole))
      const ran: string[] = []
      let log: NewEvent[] = [asked]
      for (const batches of [...cuts, Number.POSITIVE_INFINITY]) {
        if (!isOver(log)) log = await runOn(createRig(scriptedGateway(script), ran), log, batches)
      }
      assert.ok(isOver(log))
      assert.deepEqual(inAnyOrder(told(log)), inAnyOrder(told(whole)))
      assert.equal(new Set(ran).size, ran.length, 'no command ran twice')
      mustBeSettled(log)
    }),
    { numRuns: 150 },
  )
})

function mustBeSettled(log: readonly NewEvent[]): void {
  const ofType = (type: string) => log.filter(event => event.type === type)
  const used = ofType('agent.tool_use').map(event => event.tool_use_id)
  const answered = ofType('agent.tool_result').map(event => event.tool_use_id)
  assert.deepEqual(answered.toSorted(), used.toSorted(), 'every tool call has one result')
  const begun = ofType('span.model_request_start').map(({ id }) => id)
  const ended = ofType('span.model_request_end').map(event => event.model_request_start_id)
  assert.deepEqual(ended.toSorted(), begun.toSorted(), 'every model request has one end')
}

test('every model request is a conversation that the API accepts', async () => {
  await fc.assert(
    fc.asyncProperty(turns, fc.array(fc.nat({ max: 6 }), { maxLength: 3 }), async (script, cuts) => {
      const gateway = scriptedGateway(script)
      let log: NewEvent[] = [asked]
      for (const batches of [...cuts, Number.POSITIVE_INFINITY]) {
        if (!isOver(log)) log = await runOn(createRig(gateway, []), log, batches)
      }
      for (const { messages } of gateway.bodies) mustBeAccepted(messages)
    }),
    { numRuns: 100 },
  )
})

/** Checks that roles alternate, the user is first and last, and the message after tool calls has all their results. */
function mustBeAccepted(messages: readonly Message[]): void {
  for (const [at, { role, content }] of messages.entries()) {
    assert.equal(role, at % 2 === 0 ? 'user' : 'assistant')
    const uses = content.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
    const next = messages[at + 1]?.content ?? []
    const results = next.filter(({ type }) => type === 'tool_result').map(({ tool_use_id }) => tool_use_id)
    assert.deepEqual(results.toSorted(), uses.toSorted())
  }
  assert.equal(messages.at(-1)?.role, 'user')
}

test('a conversation that is rebuilt in two parts equals one that is rebuilt at once', async () => {
  await fc.assert(
    fc.asyncProperty(turns, fc.nat(), async (script, place) => {
      const log = await runOn(createRig(scriptedGateway(script), []), [asked])
      const once = new Conversation()
      for (const event of log) once.add(event)
      const cut = place % (log.length + 1)
      const parts = new Conversation()
      for (const event of log.slice(0, cut)) parts.add(event)
      // As after a crash: the log is read back from the table, as JSON.
      for (const event of JSON.parse(JSON.stringify(log.slice(cut))) as NewEvent[]) parts.add(event)
      assert.deepEqual(parts.transcript.messages, once.transcript.messages)
      assert.deepEqual(parts.usageWith(undefined), once.usageWith(undefined))
    }),
    { numRuns: 50 },
  )
})

const oneTool: readonly Turn[] = [{ text: 'I run it.', tools: ['bash'] }]

test('a truncated answer is requested again, and only the complete one is stored', async () => {
  const log = await runOn(
    createRig(
      scriptedGateway([], call => call === 0),
      [],
    ),
    [asked],
  )
  assert.deepEqual(
    log.slice(1).map(({ type }) => type),
    [
      'span.model_request_start',
      'span.model_request_end',
      'session.error',
      'span.model_request_start',
      'agent.message',
      'span.model_request_end',
      'session.usage',
      'session.status_idle',
    ],
  )
})

test('the last answer and the end of the run are stored together', async () => {
  let last: readonly NewEvent[] = []
  const rig = createRig(scriptedGateway(oneTool), [])
  for await (const batch of rig.run(session, prompt, contextOver([asked]))) last = partsOf(batch).events
  assert.deepEqual(
    last.map(({ type }) => type),
    ['agent.message', 'span.model_request_end', 'session.usage', 'session.status_idle'],
  )
})

test('a run that is stopped at once still closes interrupted calls, and runs nothing', async () => {
  const cut = await runOn(createRig(scriptedGateway(oneTool), []), [asked], 2)
  assert.equal(cut.at(-2)?.type, 'agent.tool_use')
  const ran: string[] = []
  const gateway = scriptedGateway(oneTool)
  const closed = await runOn(createRig(gateway, ran), cut, undefined, { signal: AbortSignal.abort() })
  mustBeSettled(closed)
  assert.deepEqual([ran, gateway.bodies], [[], []])
})

test('a handover happens between two steps and leaves no tool call without a result', async () => {
  let calls = 0
  const gateway = scriptedGateway([...oneTool, ...oneTool])
  const isDraining = () => calls++ > 0
  const log = await runOn(createRig(gateway, []), [asked], undefined, { isDraining })
  assert.equal(gateway.bodies.length, 1)
  assert.equal(isOver(log), false)
  mustBeSettled(log)
})
