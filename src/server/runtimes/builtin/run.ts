import type { NewEvent } from '../../../contract/events.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Actor } from '../../http/caller.ts'
import type { AgentMcp } from '../../mcp/agents/agent-mcp.ts'
import type { SessionMemories } from '../../memories/session-memories.ts'
import type { Json } from '../../platform/json.ts'
import type { Log } from '../../platform/log.ts'
import type { ResultSchemas } from '../../platform/result-schema/result-schemas.ts'
import type { pause } from '../../platform/timers.ts'
import type { Sandboxes } from '../../sandboxes/sandboxes.ts'
import type { FrontEnds } from '../../tools/front-end.ts'
import type { ToolMemoryFiles } from '../../tools/memory-files.ts'
import type { Recording } from '../../tools/replay.ts'
import type { RunServices, ToolLimits } from '../../tools/tool.ts'
import type { CallContext, ListedTools } from '../../tools/tool-source.ts'
import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'
import type { FileContents } from './context/prompt-files.ts'
import type { Conversation } from './conversation.ts'

export interface BuiltinDeps {
  readonly gateway: Pick<Gateway, 'call' | 'echoes'>
  /** Context window and maximum output of a model. */
  readonly modelLimits: Gateway['limits']
  /** Media that a model accepts. */
  readonly modelInputs: Gateway['inputs']
  readonly toolLimits: ToolLimits
  readonly web: RunServices['web']
  readonly sandboxes: Pick<Sandboxes, 'open' | 'remove'>
  /** Records that a session's sandbox is in use; never rejects. */
  readonly markSandboxRunning: (sessionId: string) => Promise<void>
  /** Memories of the session's agent. */
  readonly memories: Pick<SessionMemories, 'block' | 'toolMemories'>
  /** Memory stores of sessions. */
  readonly memoryStores: {
    /** Returns the text for the system prompt; empty without a store. */
    block(sessionId: string): Promise<string>
    /** Returns the memories for the tools of the agent; undefined without a store. */
    filesFor(sessionId: string, actor: Actor): Promise<ToolMemoryFiles | undefined>
  }
  /** Tools of the agent's MCP servers. */
  readonly mcp: Pick<AgentMcp, 'sources' | 'inputSchemaOf' | 'stored'>
  /** Tools, context and state that front-ends give to their sessions. */
  readonly frontEnds: FrontEnds
  readonly resultSchemas: Pick<ResultSchemas, 'mismatch'>
  /** Returns the recording of a session that replays; undefined when there is none. */
  readonly recordingOf: (sessionId: string) => Promise<Recording | undefined>
  readonly log: Log
  /** Waits between tries of a model request; `pause` of the platform by default. */
  readonly wait?: typeof pause
}

/** Events that are stored together. */
export type Events = readonly NewEvent[]

/** A run in progress. */
export interface Run {
  readonly deps: BuiltinDeps
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
  /** Conversation in the log; replaced after a compaction. */
  conversation: Conversation
  /** Content of the files in the last request. */
  files: FileContents
  /** Schema that the answer must match, as of the last request; undefined for an answer in prose. */
  schema: Json | undefined
  /** Text block with the agent's memories; the same for the whole run, empty without any. */
  readonly memories: string
  /** Text block of the front-end; empty without one. */
  readonly application: string
  /** The tools of all sources. */
  readonly tools: ListedTools
  readonly callContext: CallContext
}
