import type { AgUiMessage } from '../../contract/ag-ui-input.ts'
import type { PatchOperation } from '../platform/json-patch.ts'

/** Token counts of a model. The caches are parts of `inputTokens`. */
export interface TokenUsage {
  readonly model?: string
  readonly inputTokens: number
  readonly outputTokens: number
  readonly totalTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteInputTokens: number
}

/** What a run waits for. */
export interface Interrupt {
  readonly id: string
  readonly reason: 'tool_call'
  readonly message: string
  readonly toolCallId: string
  readonly responseSchema: object
}

export type Outcome =
  | { readonly type: 'success'; readonly pendingToolCallIds?: readonly string[] }
  | { readonly type: 'interrupt'; readonly interrupts: readonly Interrupt[] }
  | { readonly type: 'cancelled' }

interface OfRun {
  readonly threadId: string
  readonly runId: string
}
interface OfMessage {
  readonly messageId: string
}
interface OfCall {
  readonly toolCallId: string
}
interface Delta {
  readonly delta: string
}
interface Usage {
  readonly usage?: readonly TokenUsage[]
}

/** An event of AG-UI 1.0, as far as this service sends them. */
export type AgUiEvent =
  | ({
      readonly type: 'RUN_STARTED'
      readonly protocolVersion: string
      readonly parentRunId?: string
      readonly metadata: Readonly<Record<string, string>>
    } & OfRun)
  | ({ readonly type: 'RUN_FINISHED'; readonly outcome: Outcome; readonly result?: unknown } & OfRun & Usage)
  | ({ readonly type: 'RUN_ERROR'; readonly message: string; readonly code: string } & Usage)
  | { readonly type: 'STEP_STARTED' | 'STEP_FINISHED'; readonly stepName: string }
  | ({ readonly type: 'TEXT_MESSAGE_START'; readonly role: 'assistant' } & OfMessage)
  | ({ readonly type: 'TEXT_MESSAGE_CONTENT' } & OfMessage & Delta)
  | ({ readonly type: 'TEXT_MESSAGE_END' } & OfMessage)
  | ({ readonly type: 'REASONING_START' | 'REASONING_END' | 'REASONING_MESSAGE_END' } & OfMessage)
  | ({ readonly type: 'REASONING_MESSAGE_START'; readonly role: 'reasoning' } & OfMessage)
  | ({ readonly type: 'REASONING_MESSAGE_CONTENT' } & OfMessage & Delta)
  | ({ readonly type: 'TOOL_CALL_START'; readonly toolCallName: string; readonly parentMessageId?: string } & OfCall)
  | ({ readonly type: 'TOOL_CALL_ARGS' } & OfCall & Delta)
  | ({ readonly type: 'TOOL_CALL_END' } & OfCall)
  | ({ readonly type: 'TOOL_CALL_RESULT'; readonly content: string; readonly role: 'tool' } & OfMessage & OfCall)
  | { readonly type: 'STATE_SNAPSHOT'; readonly snapshot: unknown }
  | { readonly type: 'STATE_DELTA'; readonly delta: readonly PatchOperation[] }
  | { readonly type: 'MESSAGES_SNAPSHOT'; readonly messages: readonly AgUiMessage[] }
  | { readonly type: 'CUSTOM'; readonly name: string; readonly value: unknown }
