// A program that speaks the Agent Client Protocol and plays the script of its prompt: `[[{"say":"hi"},{"stop":"end_turn"}]]`.
// It has no imports of this project: it runs inside a sandbox, where nothing else of this project is seen.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

type Json = Record<string, unknown>

/** What a prompt can ask for, one key each. */
interface Step {
  /** A piece of the answer. */
  readonly say?: string
  readonly update?: Json
  /** Text that is no message of the protocol. */
  readonly print?: string
  /** So many bytes without an end of line. */
  readonly flood?: number
  readonly complain?: string
  /** Asks for permission, and outputs the result. */
  readonly ask?: Json
  /** The same without waiting for it. */
  readonly askBeside?: Json
  /** Calls a method of ours that is not offered, and outputs the code of the error. */
  readonly call?: string
  readonly write?: readonly [path: string, text: string]
  /** Calls a model at our gateway, and outputs the status. */
  readonly model?: string
  /** Asks the gateway for a path with its own key, or that of the run, and outputs the status. */
  readonly get?: readonly [path: string, key?: string]
  /** A child in the background that would outlive it. */
  readonly child?: string
  /** Runs a command and outputs what it writes. */
  readonly shell?: string
  /** Outputs the whole text of the prompt, the servers of the session or a variable of the environment. */
  readonly tell?: string
  /** Calls a tool of the first of its servers, and outputs the result. */
  readonly useTool?: readonly [name: string, args: Json]
  /** Waits until it is cancelled. */
  readonly hang?: true
  readonly exit?: number
  readonly fail?: readonly [code: number, message: string]
  readonly stop?: string
}

/** In the variable FAKE, as JSON. */
interface Options {
  readonly version?: number
  readonly resume?: boolean
  readonly load?: boolean
  /** It can reach MCP servers over HTTP. */
  readonly http?: boolean
  readonly ignoresCancel?: boolean
  readonly models?: readonly string[]
  readonly modes?: readonly string[]
  readonly greeting?: string
  readonly failsToOpen?: readonly [code: number, message: string]
  readonly exitsAtStart?: number
  /** Lists these methods of authentication; `$KEY` is replaced by the key of the run. */
  readonly authMethods?: readonly { readonly id: string; readonly name?: string }[]
  /** Writes its file of sessions and never answers `session/new`. */
  readonly hangsToOpen?: boolean
}

interface Server {
  readonly url: string
  readonly headers: readonly { readonly name: string; readonly value: string }[]
}

const options = JSON.parse(process.env['FAKE'] ?? '{}') as Options
const memory = join(process.env['HOME'] ?? '/tmp', 'fake-sessions.json')
const sessions: Record<string, string[]> = existsSync(memory) ? JSON.parse(readFileSync(memory, 'utf8')) : {}
const waiting = new Map<number, (answer: Json) => void>()
let lastId = 0
let sessionId = ''
let servers: readonly Server[] = []
let cancel = () => {}

const send = (message: Json) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const update = (fields: Json, of = sessionId) =>
  send({ method: 'session/update', params: { sessionId: of, update: fields } })
const say = (text: string) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })

function request(method: string, params: Json): Promise<Json> {
  lastId += 1
  const id = lastId
  return new Promise(resolve => {
    waiting.set(id, resolve)
    send({ id, method, params })
  })
}

const answers = [
  { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
  { optionId: 'always', name: 'Always', kind: 'allow_always' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
]

async function ask(toolCall: Json): Promise<void> {
  const { result } = await request('session/request_permission', { sessionId, toolCall, options: answers })
  const { outcome, optionId } = ((result ?? {}) as { outcome: Json }).outcome ?? {}
  say(`(${String(optionId ?? outcome)})`)
}

const credential = (key: string | undefined) => ({ 'x-api-key': key ?? process.env['ANTHROPIC_AUTH_TOKEN'] ?? '' })
const withKey = (value: object): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll('$KEY', process.env['ANTHROPIC_AUTH_TOKEN'] ?? ''))
const base = () => process.env['ANTHROPIC_BASE_URL'] ?? ''

async function callModel(text: string): Promise<void> {
  const body = { model: process.env['ANTHROPIC_MODEL'], max_tokens: 100, messages: [{ role: 'user', content: text }] }
  const headers = { 'content-type': 'application/json', ...credential(undefined) }
  const { status } = await fetch(`${base()}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(body) })
  say(`(${status})`)
}

function reportOf(what: string, text: string): string {
  if (what === 'prompt') return text
  return what === 'servers' ? JSON.stringify(servers) : (process.env[what] ?? 'not set')
}

async function useTool(name: string, args: Json): Promise<void> {
  const [{ url, headers } = { url: '', headers: [] }] = servers
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
  const given = Object.fromEntries(headers.map(({ name, value }) => [name, value]))
  const sent = { method: 'POST', headers: { 'content-type': 'application/json', ...given } }
  say(await (await fetch(url, { ...sent, body: JSON.stringify(message) })).text())
}

/** Output and effects of a step. */
async function work(step: Step, text: string): Promise<void> {
  if (step.say !== undefined) say(step.say)
  if (step.update) update(step.update)
  if (step.print !== undefined) process.stdout.write(`${step.print}\n`)
  if (step.flood !== undefined) process.stdout.write('x'.repeat(step.flood))
  if (step.complain !== undefined) process.stderr.write(`${step.complain}\n`)
  if (step.write) writeFileSync(...step.write)
  if (step.child !== undefined) spawn('/bin/sh', ['-c', step.child], { stdio: 'ignore' })
  if (step.shell !== undefined) say(spawnSync('/bin/sh', ['-c', step.shell]).stdout.toString())
  if (step.tell !== undefined) say(reportOf(step.tell, text))
}

/** What a step asks of others. */
async function inquire(step: Step): Promise<void> {
  if (step.ask) await ask(step.ask)
  if (step.askBeside) void ask(step.askBeside)
  if (step.call !== undefined) {
    const { error } = await request(step.call, { sessionId })
    say(`(${String((error as Json | undefined)?.['code'])})`)
  }
  if (step.model !== undefined) await callModel(step.model)
  if (step.useTool) await useTool(...step.useTool)
  if (step.get) say(`(${(await fetch(base() + step.get[0], { headers: credential(step.get[1]) })).status})`)
}

/** What ends the turn, if the step does. */
async function end({ hang, exit, fail, stop }: Step, cancelled: Promise<void>): Promise<Json | undefined> {
  if (hang) await cancelled
  if (exit !== undefined) process.exit(exit)
  if (fail) return { error: { code: fail[0], message: fail[1] } }
  const stopReason = hang ? 'cancelled' : stop
  return stopReason === undefined ? undefined : { result: { stopReason } }
}

async function prompt(params: Json): Promise<Json> {
  const text = (params['prompt'] as { text: string }[]).map(block => block.text).join('')
  sessions[sessionId] = [...(sessions[sessionId] ?? []), text]
  writeFileSync(memory, JSON.stringify(sessions))
  const cancelled = new Promise<void>(resolve => {
    cancel = options.ignoresCancel ? () => {} : resolve
  })
  // The last one counts: a conversation that is sent as text holds those before it.
  const at = text.lastIndexOf('[[{')
  const script = at < 0 ? '[]' : text.trimEnd().slice(at + 1, -1)
  for (const step of JSON.parse(script) as Step[]) {
    await work(step, text)
    await inquire(step)
    const answer = await end(step, cancelled)
    if (answer) return answer
  }
  return { result: { stopReason: 'end_turn' } }
}

const select = (id: string, category: string, values: readonly string[] = []) => ({
  id,
  category,
  name: id,
  type: 'select',
  currentValue: values[0],
  options: values.map(value => ({ value, name: value })),
})

const offers = () => ({
  configOptions: [select('the-model', 'model', options.models), select('the-mode', 'mode', options.modes)],
})

function open(previous: string | undefined, params: Json): Json {
  servers = params['mcpServers'] as Server[]
  if (options.failsToOpen) return { error: { code: options.failsToOpen[0], message: options.failsToOpen[1] } }
  if (previous !== undefined && !sessions[previous]) return { error: { code: -32_002, message: 'no such session' } }
  sessionId = previous ?? `fake-${process.pid}-${Date.now()}`
  sessions[sessionId] ??= []
  writeFileSync(memory, JSON.stringify(sessions))
  return { result: { sessionId, ...offers() } }
}

function hang(): Promise<Json> {
  writeFileSync(memory, '{}')
  return new Promise(() => {})
}

function load(previous: string, params: Json): Json {
  const opened = open(previous, params)
  for (const text of sessions[previous] ?? [])
    update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `replayed ${text}` } }, previous)
  return opened
}

const methods: Readonly<Record<string, (params: Json) => Json | Promise<Json>>> = {
  initialize: () => ({
    result: {
      protocolVersion: options.version ?? 1,
      authMethods: withKey(options.authMethods ?? []),
      agentCapabilities: {
        loadSession: options.load ?? false,
        mcpCapabilities: { http: options.http ?? false, sse: false },
        sessionCapabilities: options.resume ? { resume: {} } : {},
      },
    },
  }),
  'session/new': params => (options.hangsToOpen ? hang() : open(undefined, params)),
  'session/resume': params => open(String(params['sessionId']), params),
  'session/load': params => load(String(params['sessionId']), params),
  'session/set_config_option': params => {
    say(`[${String(params['configId'])}=${String(params['value'])}]`)
    return { result: offers() }
  },
  'session/prompt': prompt,
}

if (options.exitsAtStart !== undefined) process.exit(options.exitsAtStart)
if (options.greeting !== undefined) process.stdout.write(`${options.greeting}\n`)
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as { id?: number; method?: string; params?: Json } & Json
  const { id, method } = message
  if (method === 'session/cancel') cancel()
  else if (method === undefined) waiting.get(Number(id))?.(message)
  else
    void Promise.resolve(
      methods[method]?.(message.params ?? {}) ?? { error: { code: -32_601, message: 'unknown' } },
    ).then(answer => send({ id, ...answer }))
}
