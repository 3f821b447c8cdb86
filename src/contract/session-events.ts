import { type TProperties, Type } from 'typebox'
import { Verdict } from './approvals.ts'
import { named } from './named.ts'
import { JsonObject, Nullable } from './schemas.ts'

/** Common fields of stored events. */
const common = {
  id: Type.String(),
  processed_at: Type.String({ format: 'date-time', description: 'Time at which the event was stored' }),
  seq: Type.Integer({ description: '1, 2, 3 ... without a gap, the same in lists and streams' }),
}
const ofRuntime = {
  source_event_id: Type.Optional(Type.String({ description: 'Id of the event at the runtime that sent it' })),
}
const open = { additionalProperties: true } as const

/** An event of one type. Events of later versions may have more fields. */
const event = <const Name extends string, P extends TProperties>(type: Name, title: string, payload: P) =>
  named(title, Type.Object({ ...common, type: Type.Literal(type), ...ofRuntime, ...payload }, open))

const TextBlock = Type.Object({ type: Type.Literal('text'), text: Type.String() }, open)
const Content = Type.Array(Type.Union([TextBlock, JsonObject]))
const PromptId = Type.String({ description: 'Prompt that the event belongs to' })
const RunId = Nullable(Type.String(), 'Run; null when the prompt never started')
const promptOf = { prompt_id: Type.Optional(PromptId), run_id: Type.Optional(RunId) }
const ToolUseId = Type.String({ description: 'Id of the call at the runtime; its result repeats it' })
const toolUse = {
  name: Type.String(),
  input: JsonObject,
  tool_use_id: Type.Optional(ToolUseId),
  evaluated_permission: Type.Optional(
    Type.Union([Type.Literal('allow'), Type.Literal('ask'), Type.Literal('deny')], {
      description: '`ask`: the call requires approval',
    }),
  ),
}
const toolResult = { content: Type.Optional(Content), is_error: Type.Optional(Type.Boolean()) }
const Tokens = Type.Object(
  {
    input_tokens: Type.Integer(),
    output_tokens: Type.Integer(),
    cache_creation_input_tokens: Type.Optional(Type.Integer()),
    cache_read_input_tokens: Type.Optional(Type.Integer()),
  },
  open,
)

/** Reason why a run is idle. */
const StopReason = named(
  'StopReason',
  Type.Object(
    {
      type: Type.Union([
        Type.Literal('end_turn'),
        Type.Literal('requires_action'),
        Type.Literal('retries_exhausted'),
        Type.Literal('budget_reached'),
        Type.Literal('refusal'),
      ]),
      event_ids: Type.Optional(
        Type.Array(Type.String(), { description: 'With `requires_action`: tool calls that wait for a person' }),
      ),
    },
    open,
  ),
)

const SessionError = named(
  'SessionError',
  Type.Object(
    {
      type: Type.String({ description: 'Such as `model_rate_limited_error` or `billing_error`' }),
      message: Type.String(),
      retry_status: Type.Optional(
        Type.Object(
          {
            type: Type.Union([Type.Literal('retrying'), Type.Literal('exhausted'), Type.Literal('terminal')], {
              description: '`exhausted` and `terminal` end the run',
            }),
            attempt: Type.Optional(Type.Integer()),
            next_at: Type.Optional(Type.String({ format: 'date-time' })),
          },
          open,
        ),
      ),
    },
    open,
  ),
)

/** Every event type, in the order of a run. Dialects: section 1.6. */
export const eventSchemas = [
  event('user.message', 'UserMessageEvent', {
    content: Content,
    prompt_id: Type.Optional(PromptId),
    model: Type.Optional(Nullable(Type.String())),
  }),
  event('user.interrupt', 'UserInterruptEvent', {
    reason: Type.Optional(Type.String({ description: 'Present when a kill switch stopped the run' })),
  }),
  event('user.tool_confirmation', 'UserToolConfirmationEvent', {
    tool_use_id: Type.String({ description: 'Id of the `agent.tool_use` event' }),
    result: Verdict,
    deny_message: Type.Optional(Nullable(Type.String())),
  }),
  event('user.compact', 'UserCompactEvent', {
    prompt_id: PromptId,
    model: Type.Optional(Nullable(Type.String())),
  }),
  event('session.status_running', 'SessionRunningEvent', promptOf),
  event('session.status_idle', 'SessionIdleEvent', {
    stop_reason: StopReason,
    stop_details: Type.Optional(Nullable(JsonObject)),
    ...promptOf,
  }),
  event('session.status_rescheduled', 'SessionRescheduledEvent', promptOf),
  event('session.status_terminated', 'SessionTerminatedEvent', promptOf),
  event('session.error', 'SessionErrorEvent', { error: SessionError, ...promptOf }),
  event('session.prompt_ended', 'SessionPromptEndedEvent', {
    prompt_id: PromptId,
    run_id: RunId,
    state: Type.Union([Type.Literal('done'), Type.Literal('error'), Type.Literal('cancelled')]),
    reason: Type.Union([
      Type.Literal('withdrawn'),
      Type.Literal('deleted'),
      Type.Literal('steered'),
      Type.Literal('interrupted'),
      Type.Literal('forked'),
    ]),
  }),
  event('span.model_request_start', 'ModelRequestStartEvent', {
    model: Type.Optional(Nullable(Type.String())),
    prompt_ids: Type.Optional(
      Type.Array(Type.String(), { description: 'Prompts that enter the conversation with this request' }),
    ),
  }),
  event('span.model_request_end', 'ModelRequestEndEvent', {
    model_request_start_id: Type.Optional(Nullable(Type.String())),
    is_error: Type.Optional(Nullable(Type.Boolean())),
    model_usage: Type.Optional(Nullable(Tokens)),
  }),
  event('agent.message', 'AgentMessageEvent', {
    content: Content,
    interrupted: Type.Optional(Type.Boolean({ description: 'True when the run stopped while the model wrote it' })),
  }),
  event('agent.thinking', 'AgentThinkingEvent', { content: Type.Optional(Content) }),
  event('agent.tool_use', 'AgentToolUseEvent', toolUse),
  event('agent.tool_result', 'AgentToolResultEvent', {
    tool_use_id: Type.Optional(ToolUseId),
    ...toolResult,
  }),
  event('agent.mcp_tool_use', 'AgentMcpToolUseEvent', {
    ...toolUse,
    mcp_server_name: Type.String(),
  }),
  event('agent.mcp_tool_result', 'AgentMcpToolResultEvent', {
    mcp_tool_use_id: Type.Optional(ToolUseId),
    ...toolResult,
  }),
  event('agent.thread_context_compacted', 'ContextCompactedEvent', {
    summary: Type.Optional(Type.String({ description: 'Replaces the conversation before `kept_from_seq`' })),
    kept_from_seq: Type.Optional(Type.Integer()),
    waiting_seqs: Type.Optional(Type.Array(Type.Integer())),
    prompt_ids: Type.Optional(Type.Array(Type.String())),
    tokens_before: Type.Optional(Type.Integer({ description: 'Estimated input tokens of a request' })),
    tokens_after: Type.Optional(Type.Integer()),
    reason: Type.Optional(Type.Union([Type.Literal('auto'), Type.Literal('request')])),
  }),
  event('session.usage', 'SessionUsageEvent', { usage: Type.Optional(Nullable(Tokens)) }),
  event('session.updated', 'SessionUpdatedEvent', {
    title: Type.Optional(Nullable(Type.String())),
    metadata: Type.Optional(Nullable(JsonObject)),
  }),
  event('session.warning', 'SessionWarningEvent', {
    warning: Type.Object({ type: Type.String(), message: Type.String() }, open),
  }),
  event('session.workspace_restored', 'WorkspaceRestoredEvent', {
    checkpoint_id: Type.String(),
    checkpoint_seq: Type.Integer({ description: 'Event that the files belong to' }),
    files: Type.Integer(),
    bytes: Type.Integer(),
  }),
  event('session.files_changed', 'FilesChangedEvent', {
    path: Type.String(),
    change: Type.Union([Type.Literal('written'), Type.Literal('deleted')]),
    checkpoint_id: Type.Optional(Type.String()),
    principal: Type.Optional(Type.String({ description: 'Principal that changed the file' })),
  }),
  event('session.forked', 'SessionForkedEvent', {
    forked_from: Type.Object({ session_id: Type.String(), seq: Type.Integer() }, open),
    context: Type.Optional(Type.Unknown()),
  }),
  event('session.deleted', 'SessionDeletedEvent', {}),
] as const
