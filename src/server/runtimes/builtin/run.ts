import type { Gateway } from '../../gateway/gateway.ts'
import type { Log } from '../../platform/log.ts'
import type { pause } from '../../platform/timers.ts'
import type { Sandboxes } from '../../sandboxes/sandboxes.ts'
import type { ToolContext } from '../../tools/tool.ts'
import type { EnabledTool } from '../../tools/toolset.ts'
import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'
import type { Conversation } from './conversation.ts'

export interface BuiltinDeps {
  readonly gateway: Pick<Gateway, 'call'>
  readonly sandboxes: Pick<Sandboxes, 'open' | 'remove'>
  /** Records that a session's sandbox is in use. */
  readonly markSandboxRunning: (sessionId: string) => Promise<void>
  readonly log: Log
  /** Waits between tries of a model request; `pause` of the platform unless given. */
  readonly wait?: typeof pause
}

/** One run while it goes on. */
export interface Run {
  readonly deps: BuiltinDeps
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
  readonly conversation: Conversation
  readonly tools: ReadonlyMap<string, EnabledTool>
  /** Opens the sandbox when the first tool needs it. */
  readonly toolContext: () => Promise<ToolContext>
}
