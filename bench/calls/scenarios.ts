import type { UpstreamPath } from './answers.ts'
import { chatBody, codingAgentBody, messagesBody } from './bodies.ts'

/** Who calls: the master key, a virtual key, or a virtual key with a budget, whose calls are reserved and settled. */
export type Caller = 'master' | 'key' | 'budget'

/** A kind of call that is measured. */
export interface Scenario {
  readonly name: string
  /** The path that the client calls. */
  readonly path: '/v1/messages' | '/v1/chat/completions'
  readonly body: (model: string) => string
  /** What the upstream answers; its name is also that of the model. */
  readonly upstream: UpstreamPath
  readonly caller: Caller
  readonly connections: number
  /** What the CPU time is divided by. */
  readonly per: 'call' | 'event'
  /** A slice lasts at least as long: a paced stream takes 2 s. */
  readonly minSeconds?: number
  /** Most CPU time over that of the bare proxy. */
  readonly overProxy?: number
  /** Most CPU time over that of the other commit. */
  readonly overOther?: number
}

const smallBytes = 2_500
const json = {
  path: '/v1/messages',
  body: (model: string) => messagesBody(model, smallBytes),
  upstream: 'whole',
  caller: 'master',
  connections: 64,
  per: 'call',
} as const
const stream = { ...json, body: (model: string) => messagesBody(model, smallBytes, true), per: 'event' } as const

/** In the order in which they are measured. */
export const scenarios: readonly Scenario[] = [
  { ...json, name: 'passthrough, JSON 2.5 KB', overProxy: 2.5 },
  { ...json, name: 'passthrough, JSON 2.5 KB, virtual key', caller: 'key', overProxy: 2.7 },
  { ...json, name: 'passthrough, JSON 2.5 KB, key with a budget', caller: 'budget', overProxy: 3.6 },
  {
    ...json,
    name: 'passthrough, JSON 305 KB',
    body: model => messagesBody(model, 305_000),
    connections: 16,
    overProxy: 1.45,
  },
  {
    ...stream,
    name: 'passthrough, stream, events 20 ms apart',
    upstream: 'paced',
    connections: 100,
    minSeconds: 5,
    overProxy: 1.35,
  },
  { ...stream, name: 'passthrough, stream without pauses', upstream: 'burst', connections: 16 },
  {
    ...json,
    name: 'Chat to Anthropic, JSON 2.5 KB',
    path: '/v1/chat/completions',
    body: model => chatBody(model, smallBytes),
    overOther: 0.85,
  },
  { ...json, name: 'Anthropic to Chat, JSON 2.5 KB', upstream: 'chat', overOther: 0.85 },
  {
    ...json,
    name: 'Anthropic to Gemini, coding agent, 300 KB',
    body: model => codingAgentBody(model, 300_000),
    upstream: 'gemini',
    connections: 16,
    overOther: 0.7,
  },
]
