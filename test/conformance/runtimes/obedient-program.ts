// A program that speaks the Agent Client Protocol and follows the prompt. It has no imports of this project: it is started by the service.
import { createInterface } from 'node:readline'

type Json = Record<string, unknown>

const sentences = ['The sea is wide. ', 'It is never ', 'quite still.']
const waiting = new Map<number, (answer: Json) => void>()
let lastId = 0
let calls = 0
let cancel = () => {}
const sessionId = `program-${process.pid}-${Date.now()}`

const send = (message: Json) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const update = (fields: Json) => send({ method: 'session/update', params: { sessionId, update: fields } })
const say = (text: string) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })

/** Asks the client before a command, as real programs do; true when it is allowed. */
async function isAllowed(toolCall: Json): Promise<boolean> {
  lastId += 1
  const id = lastId
  const options = [
    { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
    { optionId: 'no', name: 'No', kind: 'reject_once' },
  ]
  const answer = new Promise<Json>(resolve => waiting.set(id, resolve))
  send({ id, method: 'session/request_permission', params: { sessionId, toolCall, options } })
  const { outcome } = ((await answer)['result'] ?? {}) as { outcome?: { optionId?: string } }
  return outcome?.optionId === 'yes'
}

async function runCommand(command: string, cancelled: Promise<void>): Promise<string> {
  const toolCallId = `call_${++calls}`
  const call = { toolCallId, title: command, kind: 'execute', status: 'pending', rawInput: { command } }
  update({ sessionUpdate: 'tool_call', ...call })
  const allowed = await isAllowed(call)
  if (allowed && command.includes('sleep')) {
    update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress' })
    await cancelled
    return 'cancelled'
  }
  const content = [{ type: 'content', content: { type: 'text', text: allowed ? 'hello' : 'refused' } }]
  update({ sessionUpdate: 'tool_call_update', toolCallId, status: allowed ? 'completed' : 'failed', content })
  say(allowed ? 'It ran.' : 'I may not.')
  return 'end_turn'
}

async function prompt(params: Json): Promise<Json> {
  const text = (params['prompt'] as { text: string }[]).map(block => block.text).join('')
  const cancelled = new Promise<void>(resolve => {
    cancel = resolve
  })
  update({ sessionUpdate: 'usage_update', used: 46, size: 200_000 })
  const command = /Run the shell command: (.*)$/m.exec(text)?.[1]
  if (command !== undefined) return { stopReason: await runCommand(command, cancelled) }
  for (const piece of text.includes('two sentences') ? sentences : ['ready']) say(piece)
  return { stopReason: 'end_turn' }
}

const methods: Readonly<Record<string, (params: Json) => Json | Promise<Json>>> = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: false } }),
  'session/new': () => ({ sessionId }),
  'session/prompt': prompt,
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as { id?: number; method?: string; params?: Json } & Json
  const { id, method } = message
  if (method === 'session/cancel') cancel()
  else if (method === undefined) waiting.get(Number(id))?.(message)
  else if (id !== undefined) {
    const answer = methods[method]?.(message.params ?? {})
    if (answer === undefined) send({ id, error: { code: -32_601, message: 'unknown' } })
    else void Promise.resolve(answer).then(result => send({ id, result }))
  }
}
