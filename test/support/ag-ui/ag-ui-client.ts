import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Target } from '../service/send.ts'

export interface ToolCall {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface Message {
  readonly id: string
  readonly role: string
  readonly content?: unknown
  readonly toolCalls?: readonly ToolCall[]
  readonly toolCallId?: string
}

export interface AgUiEvent {
  readonly type: string
  readonly [field: string]: unknown
}

interface Interrupt {
  readonly id: string
  readonly reason: string
  readonly message?: string
  readonly toolCallId?: string
}

interface RunOptions {
  readonly runId?: string
  readonly tools?: readonly object[]
  readonly context?: readonly object[]
  readonly forwardedProps?: unknown
  readonly resume?: readonly object[]
}

/** The part of the official client that the tests use. */
export interface HttpAgent {
  readonly threadId: string
  readonly messages: readonly Message[]
  readonly state: unknown
  readonly pendingInterrupts: readonly Interrupt[]
  addMessage(message: object): void
  setState(state: unknown): void
  subscribe(subscriber: { onEvent?(call: { readonly event: AgUiEvent }): void }): void
  runAgent(options?: RunOptions): Promise<{ readonly result: unknown; readonly newMessages: readonly Message[] }>
  abortRun(): void
}

interface Module {
  readonly HttpAgent: new (options: object) => HttpAgent
}

const file = join(import.meta.dirname, '../../clients/node_modules/@ag-ui/client/dist/index.mjs')

/** A front-end: the official client of an agent, and the events of its runs so far. */
export interface FrontEnd {
  readonly agent: HttpAgent
  readonly events: AgUiEvent[]
  /** Headers of the last response. */
  headers(): Headers
  /** Adds a message of the user and runs the agent. Returns the events of the run. */
  prompt(content: unknown, options?: RunOptions): Promise<AgUiEvent[]>
  /** Runs the agent. Returns the events of the run. */
  run(options?: RunOptions): Promise<AgUiEvent[]>
}

/** Returns a front-end of an agent. */
export async function frontEnd({ url, key = '' }: Target, agentId: string, options: object = {}): Promise<FrontEnd> {
  if (!existsSync(file)) throw new Error(`@ag-ui/client is missing at ${file}: run "npm ci" in test/clients`)
  const { HttpAgent } = (await import(pathToFileURL(file).href)) as Module
  let headers = new Headers()
  const fetchWithHeaders = async (address: string, init: RequestInit) => {
    const response = await fetch(address, init)
    headers = response.headers
    return response
  }
  const agent = new HttpAgent({
    url: `${url}/ag-ui/${agentId}`,
    headers: { Authorization: `Bearer ${key}` },
    fetch: fetchWithHeaders,
    ...options,
  })
  const events: AgUiEvent[] = []
  agent.subscribe({ onEvent: ({ event }) => void events.push(event) })
  const run = async (given: RunOptions = {}) => {
    const from = events.length
    await agent.runAgent(given)
    return events.slice(from)
  }
  return {
    agent,
    events,
    headers: () => headers,
    run,
    prompt(content, given) {
      agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
      return run(given)
    },
  }
}
