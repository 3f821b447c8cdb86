import { join } from 'node:path'
import { plainPrompts } from '../../../src/cli/runtime-suite/command.ts'
import type { SuitePrompts } from '../../../src/cli/runtime-suite/context.ts'
import { startA2aFake } from '../../support/a2a/a2a-fake.ts'
import type { A2aStep } from '../../support/a2a/a2a-fake-task.ts'
import { startCursorFake } from '../../support/cursor/cursor-fake.ts'
import type { CursorStep } from '../../support/cursor/cursor-runs.ts'
import { startManagedAgentsFake } from '../../support/managed-agents/managed-agents-fake.ts'
import type { Script } from '../../support/managed-agents/managed-agents-fake-script.ts'
import { startOpencodeFake } from '../../support/opencode/opencode-fake.ts'
import type { FakeStep } from '../../support/opencode/opencode-turn.ts'
import { send } from '../../support/service/send.ts'
import { type Service, startService } from '../../support/service/service.ts'
import type { Answer } from '../../support/upstream/scripted-answer.ts'
import { bash, configFor } from '../../support/upstream/scripted-service.ts'
import { type Recorded, startScriptedUpstream } from '../../support/upstream/scripted-upstream.ts'

/** A runtime that the suite can run on. */
export interface Stage {
  readonly runtime: string
  readonly service: Service
  readonly model: string | undefined
  readonly prompts: SuitePrompts
  readonly stop: () => Promise<void>
}

/** What is played by scripts need not take as long as a real model. */
const prompts: SuitePrompts = { ...plainPrompts, long: 'Run the shell command: sleep 3; echo done' }

const sentences = ['The sea is wide. ', 'It is never ', 'quite still.']
const commandIn = (text: string): string | undefined => /Run the shell command: (.*)$/m.exec(text)?.[1]
const isLong = (text: string): boolean => text.includes('sleep')
const answerTo = (text: string): readonly string[] => (text.includes('two sentences') ? sentences : ['ready'])

interface Message {
  readonly role: string
  readonly content: string | readonly { readonly type: string; readonly text?: string }[]
}

/** A model that follows the last prompt. */
function obedient({ body }: Recorded): Answer {
  const last = (body['messages'] as Message[]).at(-1)
  const blocks = typeof last?.content === 'string' ? [{ type: 'text', text: last.content }] : (last?.content ?? [])
  const said = blocks.findLast(({ type }) => type === 'text')?.text
  if (said === undefined) return { text: 'The command has run.' }
  const command = commandIn(said)
  return command === undefined ? { text: answerTo(said).join('') } : bash(command)
}

async function builtin(): Promise<Stage> {
  const upstream = await startScriptedUpstream({ script: obedient })
  const service = await startService({ config: configFor(upstream) })
  return { runtime: 'builtin', service, model: 'scripted', prompts, stop: () => upstream.stop() }
}

/** A service that may call a fake on this machine. */
const serviceFor = ({ host }: { readonly host: string }): Promise<Service> =>
  startService({ config: JSON.stringify({ outbound: { allow: [host] } }) })

async function connect(service: Service, runtime: string, body: object): Promise<void> {
  const answer = await send(service, `PUT /api/agent-runtimes/${runtime}/credentials`, { body })
  if (answer.status !== 200) throw new Error(`${runtime} could not be connected: ${answer.text}`)
}

let calls = 0

function cursorSteps(text: string): readonly CursorStep[] {
  const command = commandIn(text)
  if (command === undefined) {
    const pieces = answerTo(text).map((piece): CursorStep => ({ event: 'assistant', data: { text: piece } }))
    return [...pieces, { end: { text: answerTo(text).join('') } }]
  }
  const call = { callId: `call-${++calls}`, name: 'shell', args: { command } }
  const begun: CursorStep = { event: 'tool_call', data: { ...call, status: 'running' } }
  if (isLong(text)) return [begun, { hold: true }, { end: {} }]
  const done: CursorStep = { event: 'tool_call', data: { ...call, status: 'completed', result: 'hello' } }
  return [begun, done, { event: 'assistant', data: { text: 'It ran.' } }, { end: { text: 'It ran.' } }]
}

async function cursor(): Promise<Stage> {
  const fake = await startCursorFake({ script: cursorSteps })
  const service = await serviceFor(fake)
  await connect(service, 'cursor', { api_key: fake.key, api_base: fake.url })
  return { runtime: 'cursor', service, model: undefined, prompts, stop: () => fake.stop() }
}

async function managedAgents(): Promise<Stage> {
  const fake = await startManagedAgentsFake({
    script: (text): ReturnType<Script> => {
      const command = commandIn(text)
      if (command === undefined) return [{ say: answerTo(text).join(''), pieces: answerTo(text) }]
      if (isLong(text)) return [{ say: 'Waiting.' }, { hang: true }]
      // The agent of the session in work is the one that was made last.
      const ask = JSON.stringify([...fake.agents.values()].at(-1)).includes('always_ask')
      return [{ use: 'bash', input: { command }, result: 'hello', ask }, { say: 'It ran.' }]
    },
  })
  const service = await serviceFor(fake)
  await connect(service, 'claude_managed_agents', { api_key: fake.apiKey, api_base: fake.url })
  return { runtime: 'claude_managed_agents', service, model: undefined, prompts, stop: () => fake.stop() }
}

async function opencode(): Promise<Stage> {
  // It asks for its turns one by one, right after it has noted the prompt.
  const turns: (readonly FakeStep[])[] = [[]]
  const fake = await startOpencodeFake({ turns, password: 'secret' })
  Object.defineProperty(turns, 0, { get: () => opencodeSteps(fake.requests) })
  const service = await serviceFor({ host: new URL(fake.url).host })
  const body = { alias: 'opencode', api_spec: 'opencode', api_base: fake.url, api_key: 'secret' }
  const answer = await send(service, 'POST /api/runtime-harnesses', { body })
  if (answer.status !== 200) throw new Error(`opencode could not be registered: ${answer.text}`)
  return { runtime: 'opencode', service, model: undefined, prompts, stop: async () => void (await fake.stop()) }
}

interface FakeCall {
  readonly method: string
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
}

interface PromptSent {
  readonly parts: readonly { readonly text?: string }[]
  readonly model?: { readonly modelID: string }
}

function opencodeSteps(requests: readonly FakeCall[]): readonly FakeStep[] {
  const { parts, model } = (requests.at(-1) as unknown as { readonly body: PromptSent }).body
  if (model?.modelID.includes('no-such-model')) {
    return [{ error: { name: 'UnknownError', data: { message: `Model not found: ${model.modelID}` } } }]
  }
  const text = parts.map(part => part.text ?? '').join('\n')
  const command = commandIn(text)
  if (command === undefined) return [{ text: answerTo(text) }]
  const tool = { name: 'bash', input: { command }, output: 'hello' }
  if (isLong(text)) return [{ tools: [tool], hold: 'in tool' }]
  const made = requests.findLast(({ method, path }) => method === 'POST' && path === '/session')
  const asks = JSON.stringify(made?.body ?? {}).includes('"ask"') ? ['bash'] : []
  return [{ tools: [{ ...tool, permissions: asks }] }, { text: ['It ran.'] }]
}

/** An agent has no tools that it shows: its text says what it did. */
function a2aSteps(text: string): readonly A2aStep[] {
  if (isLong(text)) return [{ status: 'Waiting.' }, { hold: true }]
  return [{ artifact: commandIn(text) === undefined ? answerTo(text) : ['It ran.'] }]
}

async function a2a(): Promise<Stage> {
  const fake = await startA2aFake({ script: a2aSteps, key: 'secret' })
  const service = await serviceFor(fake)
  const body = { alias: 'a2a', api_spec: 'a2a', api_base: fake.url, api_key: fake.key }
  const answer = await send(service, 'POST /api/runtime-harnesses', { body })
  if (answer.status !== 200) throw new Error(`a2a could not be registered: ${answer.text}`)
  return { runtime: 'a2a', service, model: undefined, prompts, stop: () => fake.stop() }
}

async function acp(): Promise<Stage> {
  const upstream = await startScriptedUpstream({ script: obedient })
  const command = ['node', join(import.meta.dirname, 'obedient-program.ts')]
  const runtime_harnesses = [{ alias: 'acp', api_spec: 'acp', command }]
  const config = JSON.stringify({ ...JSON.parse(configFor(upstream)), runtime_harnesses })
  const service = await startService({ config })
  return { runtime: 'acp', service, model: 'scripted', prompts, stop: () => upstream.stop() }
}

/** Every runtime of the suite: what starts it in front of something that plays its provider. */
export const stages: Readonly<Record<string, () => Promise<Stage>>> = {
  builtin,
  cursor,
  claude_managed_agents: managedAgents,
  opencode,
  a2a,
  acp,
}
