import type { NewEvent } from '../../../contract/events.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { SessionMemories } from '../../memories/session-memories.ts'
import type { Json } from '../../platform/json.ts'
import type { Log } from '../../platform/log.ts'
import type { ResultSchemas } from '../../platform/result-schema/result-schemas.ts'
import type { pause } from '../../platform/timers.ts'
import type { Sandboxes } from '../../sandboxes/sandboxes.ts'
import type { ToolContext } from '../../tools/tool.ts'
import type { EnabledTool } from '../../tools/toolset.ts'
import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'
import type { Conversation } from './conversation.ts'

export interface BuiltinDeps {
  readonly gateway: Pick<Gateway, 'call' | 'echoes'>
  /** What is known of a model's window and of its answers. */
  readonly modelLimits: Gateway['limits']
  readonly sandboxes: Pick<Sandboxes, 'open' | 'remove'>
  /** Records that a session's sandbox is in use; never rejects. */
  readonly markSandboxRunning: (sessionId: string) => Promise<void>
  /** What the session's agent remembers. */
  readonly memories: Pick<SessionMemories, 'block' | 'lend'>
  readonly resultSchemas: Pick<ResultSchemas, 'mismatch'>
  readonly log: Log
  /** Waits between tries of a model request; `pause` of the platform unless given. */
  readonly wait?: typeof pause
}

/** Events that are stored together. */
export type Events = readonly NewEvent[]

/** One run while it goes on. */
export interface Run {
  readonly deps: BuiltinDeps
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
  /** What the log tells; another object once it was compacted. */
  conversation: Conversation
  /** What the run's answer has to fit, as of its last request; undefined: it is for people. */
  schema: Json | undefined
  /** Block of the context that holds the agent's memories; the same for the whole run, empty without any. */
  readonly memories: string
  readonly tools: ReadonlyMap<string, EnabledTool>
  /** Opens the sandbox when the first tool needs it. */
  readonly toolContext: () => Promise<ToolContext>
}
