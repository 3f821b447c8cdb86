import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOver, prompt, rigOver, session } from '../../../../test/support/sessions/builtin-rig.ts'
import { scriptedModel } from '../../../../test/support/sessions/scripted-model.ts'
import type { NewEvent } from '../../../contract/events.ts'
import { partsOf } from '../runtime.ts'
import type { Message } from './context/blocks.ts'
import { builtinRuntime } from './runtime.ts'

const schema = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] }
const asking = { ...prompt, output_schema: schema }
const asked: NewEvent = { type: 'user.message', prompt_id: prompt.id, content: prompt.parts }

interface Body {
  readonly system: { readonly text: string }[]
  readonly messages: Message[]
}

/** A model that returns these answers, one per request. */
const gatewaySaying = (...answers: readonly string[]) =>
  scriptedModel<Body>(at => [{ type: 'text', text: answers[at] ?? 'no more' }])

/** Resumes `log` until `batches` were stored, as a process that is then killed; returns the log. */
async function runOn(gateway: ReturnType<typeof gatewaySaying>, log: readonly NewEvent[], batches = 100) {
  const stored = [...log]
  let left = batches
  const runtime = builtinRuntime({ gateway, ...rigOver([]) })
  const context = contextOver(
    log.map((event, at) => ({ ...event, seq: at + 1 })),
    { prompts: async () => [asking] },
  )
  for await (const batch of runtime.run(session, asking, context)) {
    if (left-- <= 0) break
    stored.push(...partsOf(batch).events)
  }
  return stored
}

const types = (log: readonly NewEvent[]) => log.map(({ type }) => type.replace(/^span\./, ''))
const said = (messages: readonly Message[]) => messages.map(({ content }) => content.map(({ text }) => text).join(' '))

for (const [what, answer] of [
  ['alone', '{"total": 7}'],
  ['in a fence', 'Here it is:\n```json\n{"total": 7}\n```\n'],
] as const) {
  test(`JSON ${what} is the result of the run`, async () => {
    const gateway = gatewaySaying(answer)
    const log = await runOn(gateway, [asked])
    assert.equal(log.at(-1)?.type, 'session.status_idle')
    assert.deepEqual(log.at(-1)?.result, { total: 7 })
    assert.match(gateway.bodies[0]?.system.at(-1)?.text ?? '', /fits the JSON Schema below.*"total"/s)
  })
}

test('an answer that does not match the schema is requested again with the reason', async () => {
  const gateway = gatewaySaying('Seven.', '{"total":7}')
  const log = await runOn(gateway, [asked])
  assert.deepEqual(log.at(-1)?.result, { total: 7 })
  const error = log.find(({ type }) => type === 'session.error')?.['error'] as Record<string, unknown>
  assert.equal(error['type'], 'invalid_result_error')
  assert.match(String(error['message']), /^the answer is not JSON; asking the model again$/)
  const [, second] = gateway.bodies
  assert.deepEqual(said(second?.messages ?? []), [
    'Go',
    'Seven.',
    'Your answer is not JSON. Answer again, with nothing but JSON that fits the schema.',
  ])
})

test('a second answer that does not match ends the run with an error that names the place', async () => {
  const gateway = gatewaySaying('{"total":"7"}', '{"total":null}', '{"total":7}')
  const log = await runOn(gateway, [asked])
  assert.deepEqual(log.at(-1)?.error, {
    type: 'invalid_result_error',
    message: 'the answer does not match the schema: total must be number; the model had a second try',
    retry_status: { type: 'terminal' },
  })
  assert.equal(gateway.bodies.length, 2)
})

test('the model gets one second try, wherever the process is killed', async () => {
  const whole = await runOn(gatewaySaying('Seven.', '{"total":7}'), [asked])
  for (let batches = 0; batches < 6; batches++) {
    const cut = await runOn(gatewaySaying('Seven.', '{"total":7}'), [asked], batches)
    const gateway = gatewaySaying('Seven.', '{"total":7}')
    const log = cut.length === whole.length ? cut : await runOn(gateway, cut)
    assert.deepEqual(log.at(-1)?.result, { total: 7 })
    assert.equal(types(log).filter(type => type === 'session.error').length, 1)
    for (const { messages } of gateway.bodies.slice(-1)) {
      assert.deepEqual(
        messages.map(({ role }) => role),
        messages.length === 1 ? ['user'] : ['user', 'assistant', 'user'],
      )
    }
  }
})

test('the next prompt gets its own second try', async () => {
  const first = await runOn(gatewaySaying('Seven.', '{"total":7}'), [asked])
  const ended = first.map(event => (event.type === 'session.status_idle' ? { ...event, prompt_id: prompt.id } : event))
  const again: NewEvent = { type: 'user.message', prompt_id: 'msg_2', content: prompt.parts }
  const gateway = gatewaySaying('', '', 'Eight.', '{"total":8}')
  const runtime = builtinRuntime({ gateway, ...rigOver([]) })
  const next = { ...asking, id: 'msg_2' }
  const log: NewEvent[] = []
  const context = contextOver([...ended, again], { prompts: async () => [next] })
  for await (const batch of runtime.run(session, next, context)) log.push(...partsOf(batch).events)
  assert.deepEqual(log.at(-1)?.result, { total: 8 })
})

test('the schema of the agent applies to a prompt without one', async () => {
  const gateway = gatewaySaying('{"total":7}')
  const runtime = builtinRuntime({ gateway, ...rigOver([]) })
  const log: NewEvent[] = []
  const typed = { ...session, config: { output_schema: schema } }
  for await (const batch of runtime.run(typed, prompt, contextOver([asked]))) log.push(...partsOf(batch).events)
  assert.deepEqual(log.at(-1)?.result, { total: 7 })
})
