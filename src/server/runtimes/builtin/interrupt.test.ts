import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOver, prompt, rigOver, session } from '../../../../test/support/sessions/builtin-rig.ts'
import { fullUsage, messageFrames, type ScriptedBlock } from '../../../../test/support/upstream/message-frames.ts'
import type { NewEvent } from '../../../contract/events.ts'
import type { Call, Sink } from '../../gateway/core/call.ts'
import { noTokens } from '../../gateway/tokens/token-counts.ts'
import { wholeEchoes } from '../../platform/echoes.ts'
import { partsOf, type RunContext } from '../runtime.ts'
import type { Message } from './context/blocks.ts'
import { builtinRuntime } from './runtime.ts'

const asked: NewEvent = { type: 'user.message', prompt_id: prompt.id, content: prompt.parts }
const content: ScriptedBlock[] = [
  { type: 'thinking', thinking: 'hm', signature: 'sig' },
  { type: 'text', text: 'I will look at it now, and then' },
  { type: 'tool_use', id: 'toolu_1', name: 'bash', input: { command: 'ls' } },
]

/** A model whose answer is interrupted, and the requests that it received. */
function stoppedRig(stop: AbortController) {
  const bodies: { messages: Message[] }[] = []
  const shown: string[] = []
  const gateway = {
    echoes: () => wholeEchoes([]),
    async call({ body }: Call, sink: Sink) {
      bodies.push(JSON.parse(body.toString()))
      const frames = messageFrames({
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'demo',
        content,
        stop_reason: 'tool_use',
        stop_sequence: null,
        usage: fullUsage(10, 50),
      })
      sink.head(200, {})
      for (const frame of [...frames].slice(0, -3)) sink.data(Buffer.from(frame))
      stop.abort()
      const usage = { ...noTokens, input_tokens: 10, output_tokens: 400, estimated: true }
      return { outcome: 'aborted', status: 200, stopReason: undefined, usage, firstContentMs: 1 } as const
    },
  }
  const runtime = builtinRuntime({ gateway, ...rigOver([]) })
  const run = async (log: readonly NewEvent[], changes: Partial<RunContext> = {}) => {
    const stored = [...log]
    const context = contextOver(log, { signal: stop.signal, preview: id => void shown.push(id), ...changes })
    for await (const batch of runtime.run(session, prompt, context)) stored.push(...partsOf(batch).events)
    return stored
  }
  return { bodies, shown, run }
}

test('C2: an interrupt stores the text that readers saw and an estimate of its cost', async () => {
  const { shown, run } = stoppedRig(new AbortController())
  const log = await run([asked])
  const [start, message, end, usage, ...more] = log.slice(1)
  assert.deepEqual(more, [])
  assert.equal(start?.type, 'span.model_request_start')
  const text = 'I will look at it now, and then'
  const kept = { id: shown[0], type: 'agent.message', content: [{ type: 'text', text }], interrupted: true }
  assert.deepEqual(message, kept)
  const model_usage = {
    input_tokens: 10,
    output_tokens: 400,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
  }
  assert.deepEqual(end, {
    type: 'span.model_request_end',
    model_request_start_id: start?.id,
    is_error: null,
    model_usage,
    interrupted: true,
    estimated: true,
  })
  assert.deepEqual(usage, { type: 'session.usage', usage: model_usage })
})

test('C2: the next request contains the stored text, and no tool call of the interrupted answer', async () => {
  const log = await stoppedRig(new AbortController()).run([asked])
  const { bodies, run } = stoppedRig(new AbortController())
  const next = { ...prompt, id: 'msg_2' }
  await run([...log, { ...asked, prompt_id: next.id }], { prompts: async () => [next] })
  assert.deepEqual(
    bodies[0]?.messages.map(({ role, content: blocks }) => [role, blocks.map(({ type }) => type)]),
    [
      ['user', ['text']],
      ['assistant', ['text']],
      ['user', ['text']],
    ],
  )
})

test('C2: a handover stores nothing of the answer: the next owner repeats the request', async () => {
  const log = await stoppedRig(new AbortController()).run([asked], { isStopped: () => false, isDraining: () => false })
  assert.deepEqual(
    log.slice(1).map(({ type, is_error }) => [type, is_error]),
    [
      ['span.model_request_start', undefined],
      ['span.model_request_end', true],
    ],
  )
})
