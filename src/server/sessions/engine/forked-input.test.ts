import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { createEngine, plays } from '../../../../test/support/sessions/session-engine.ts'
import { type NewEvent, type SessionEvent, textOfContent } from '../../../contract/events.ts'
import { Conversation } from '../../runtimes/builtin/conversation.ts'
import { failed, idle, noCapabilities, type RunPrompt, type Runtime } from '../../runtimes/runtime.ts'

const { pool } = await freshDatabase()
const done = idle({ type: 'end_turn' })
const says = (text: string): NewEvent => ({ type: 'agent.message', content: [{ type: 'text', text }] })

interface RecordedRun {
  readonly prompt: RunPrompt
  readonly history: readonly SessionEvent[]
}

/** A runtime that records its input and answers every prompt except those in `fails`. */
function recordingRuntime(
  id: string,
  reads?: Runtime['reads'],
): { runtime: Runtime; recorded: RecordedRun[]; fails: Set<string> } {
  const recorded: RecordedRun[] = []
  const fails = new Set<string>()
  const runtime: Runtime = {
    id,
    capabilities: noCapabilities,
    ...(reads && { reads }),
    async *run(_session, prompt, context) {
      recorded.push({ prompt, history: await Array.fromAsync(context.history()) })
      await context.prompts()
      const text = textOfContent(prompt.parts.slice(-1))
      if (fails.has(text)) yield [failed('unknown_error', 'failed')]
      else yield [says(`answer to ${text}`), done]
    },
    dispose: async () => undefined,
  }
  return { runtime, recorded, fails }
}

const textsOf = ({ prompt }: RecordedRun): string[] => prompt.parts.map(part => textOfContent([part]))

/** A session of the runtime `builtin` with one exchange. */
async function begun(engine: ReturnType<typeof createEngine>): Promise<string> {
  const id = await engine.create()
  await engine.prompt(id, 'first question')
  await engine.settle()
  return id
}

test('a runtime that keeps conversations itself gets the forked conversation in front of its first prompt', async t => {
  const other = recordingRuntime('other')
  const engine = createEngine(t, { pool, parts: [plays([says('first answer'), done])], others: [other.runtime] })
  const id = await begun(engine)
  const { session } = await engine.fork(id, { runtime: 'other' })
  assert.deepEqual(session.forked_from, { session_id: id, seq: (await engine.logOf(id)).length })
  other.fails.add('refused')
  for (const text of ['refused', 'second question', 'third question']) {
    await engine.prompt(session.id, text)
    await engine.settle()
  }
  const [refused, second, third] = other.recorded.map(textsOf)
  assert.match(refused?.[0] ?? '', /User:\nfirst question\n\nAssistant:\nfirst answer/)
  assert.equal(second?.[0], refused?.[0], 'nothing was answered yet')
  assert.deepEqual(second?.slice(1), ['second question'])
  assert.deepEqual(third, ['third question'])
  for (const { history } of other.recorded) {
    assert.ok(!history.some(event => JSON.stringify(event).includes('first')), 'the other log is not its own')
  }
})

test('a runtime that reads any log gets the log of the forked session and an unchanged prompt', async t => {
  const other = recordingRuntime('other', 'any log')
  const engine = createEngine(t, { pool, parts: [plays([says('first answer'), done])], others: [other.runtime] })
  const { session } = await engine.fork(await begun(engine), { runtime: 'other' })
  await engine.prompt(session.id, 'second question')
  await engine.settle()
  const [recorded] = other.recorded
  assert.deepEqual(recorded && textsOf(recorded), ['second question'])
  assert.ok(recorded?.history.some(event => JSON.stringify(event).includes('first answer')))
})

test('a runtime that reads only its own log gets the conversation of another runtime as its first message', async t => {
  const own = recordingRuntime('own', 'own log')
  const engine = createEngine(t, { pool, parts: [plays([says('first answer'), done])], others: [own.runtime] })
  const { session } = await engine.fork(await begun(engine), { runtime: 'own' })
  await engine.prompt(session.id, 'second question')
  await engine.settle()
  const again = await engine.fork(session.id, {})
  await engine.prompt(again.session.id, 'third question')
  await engine.settle()
  for (const [at, expected] of [['first answer'], ['first answer', 'second question']].entries()) {
    const conversation = new Conversation()
    for (const event of own.recorded[at]?.history ?? []) conversation.add(event)
    const [message] = conversation.transcript.messages
    assert.equal(message?.role, 'user')
    for (const text of expected) assert.ok(JSON.stringify(message).includes(text))
    assert.deepEqual(own.recorded[at]?.prompt.parts.length, 1)
  }
})
