import { type TProperties, Type } from 'typebox'
import { Verdict } from './approvals.ts'
import { named } from './named.ts'
import { LastVerdict, OutcomeVerdict } from './outcomes.ts'
import { FilePart } from './prompt-files.ts'
import { PullRequest, SessionRepository } from './repositories.ts'
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
  input: Type.Union([JsonObject, Type.String()], {
    description: 'The arguments; a text when the model wrote no JSON object, and the call then fails',
  }),
  tool_use_id: ToolUseId,
  evaluated_permission: Type.Optional(
    Type.Union([Type.Literal('allow'), Type.Literal('ask'), Type.Literal('deny')], {
      description: '`ask`: the call requires approval',
    }),
  ),
}
/** A call of another agent. */
const thread = {
  session_thread_id: Type.String({ description: 'Id of the session of the called agent' }),
  tool_use_id: ToolUseId,
}
const AgentName = Type.Optional(Type.String({ description: 'Name of the called agent' }))
/** Present when the log of a session shows the event of a session that it has called. */
const ofThread = {
  session_thread_id: Type.Optional(
    Type.String({ description: 'The called session that the event belongs to; absent for this session itself' }),
  ),
}
const ofThreads = {
  session_thread_ids: Type.Optional(
    Type.Array(Type.String(), { description: 'The called sessions that the status is about' }),
  ),
}
const toolResult = { content: Type.Optional(Content), is_error: Type.Optional(Type.Boolean()) }
const tokenCounts = {
  input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  cache_creation_input_tokens: Type.Optional(Type.Integer()),
  cache_read_input_tokens: Type.Optional(Type.Integer()),
}
const Tokens = Type.Object(tokenCounts, open)
const SessionTokens = Type.Object(
  {
    ...Type.Partial(Type.Object(tokenCounts)).properties,
    context_tokens: Type.Optional(
      Type.Integer({ description: 'Tokens in the context of a program that reports them' }),
    ),
    context_window: Type.Optional(Type.Integer({ description: 'Size of that context' })),
  },
  open,
)

const evaluation = { outcome_id: LastVerdict.properties.outcome_id, iteration: LastVerdict.properties.iteration }

/** A budget or a freeze that stopped a run. The run resumes once there is room, or the freeze is lifted. */
const BudgetReached = named(
  'BudgetReached',
  Type.Object(
    {
      type: Type.Literal('budget_reached'),
      scope: Type.Union(
        [
          Type.Literal('key'),
          Type.Literal('owner'),
          Type.Literal('agent'),
          Type.Literal('session'),
          Type.Literal('team'),
          Type.Literal('all'),
        ],
        { description: 'Whose budget it is, or whose spending is frozen; `all` is a freeze only' },
      ),
      scope_id: Type.String({ description: 'Empty for `all`' }),
      is_frozen: Type.Optional(Type.Literal(true, { description: 'Present for a freeze' })),
      max_usd: Nullable(Type.Number(), 'US dollars that may be spent in a period'),
      needed_usd: Nullable(Type.Number(), 'The most that the rejected model call may cost, in US dollars'),
      resets_at: Nullable(Type.String(), 'End of the period; null for a budget for life'),
    },
    open,
  ),
)

/** Reason why a run is idle. */
const StopReason = named(
  'StopReason',
  Type.Union([
    Type.Object(
      { type: Type.Union([Type.Literal('end_turn'), Type.Literal('retries_exhausted'), Type.Literal('refusal')]) },
      open,
    ),
    Type.Object(
      {
        type: Type.Literal('requires_action'),
        event_ids: Type.Optional(
          Type.Array(Type.String(), {
            description:
              'The tool calls that wait for a person (`agent.tool_use`) or a client (`agent.custom_tool_use`)',
          }),
        ),
      },
      open,
    ),
    BudgetReached,
  ]),
)

const StopDetails = Type.Object({ type: Type.Optional(Type.String()), message: Type.Optional(Type.String()) }, open)
const stop = { stop_reason: StopReason, stop_details: Type.Optional(Nullable(StopDetails)) }

const Branch = Type.Object(
  {
    repoUrl: Type.Optional(Type.String()),
    branch: Type.Optional(Type.String()),
    prUrl: Type.Optional(Type.String()),
  },
  open,
)

const SessionError = named(
  'SessionError',
  Type.Object(
    {
      type: Type.String({ description: 'Such as `model_rate_limited_error` or `billing_error`' }),
      message: Type.String(),
      problem: Type.Optional(
        Type.String({
          description: 'With `invalid_result_error` and `invalid_evaluation_error`: what the model has to repair',
        }),
      ),
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
    content: Type.Array(Type.Union([TextBlock, FilePart])),
    prompt_id: Type.Optional(PromptId),
    model: Type.Optional(Nullable(Type.String())),
  }),
  event('user.define_outcome', 'UserDefineOutcomeEvent', {
    outcome_id: Type.String({ description: 'The events of its evaluations have it too' }),
    description: Type.String({ description: 'What the agent should produce' }),
    rubric: Type.Object({ type: Type.Literal('text'), content: Type.String() }, open),
    max_iterations: Nullable(Type.Integer(), 'Evaluations until the service gives up'),
    model: Type.Optional(Nullable(Type.String(), 'Model of the grader; null: that of the prompt')),
    prompt_id: Type.Optional(PromptId),
  }),
  event('user.interrupt', 'UserInterruptEvent', {
    reason: Type.Optional(
      Type.String({ description: 'Why the service stopped the run; absent for a request of a client' }),
    ),
    ...ofThread,
  }),
  event('user.tool_confirmation', 'UserToolConfirmationEvent', {
    tool_use_id: Type.String({ description: 'Id of the `agent.tool_use` event' }),
    result: Verdict,
    deny_message: Type.Optional(Nullable(Type.String())),
    input: Type.Optional(
      Type.Unknown({ description: 'Arguments of the approver, which replace those of the `agent.tool_use` event' }),
    ),
    decided_by: Type.Optional(Type.String({ description: 'Principal who decided, or `link`' })),
    ...ofThread,
  }),
  event('session.approval_expired', 'ApprovalExpiredEvent', {
    tool_use_id: Type.String({ description: 'Id of the `agent.tool_use` event that was not decided in time' }),
    expired_at: Type.String({ format: 'date-time' }),
  }),
  event('user.custom_tool_result', 'UserCustomToolResultEvent', {
    custom_tool_use_id: Type.String({ description: 'Id of the `agent.custom_tool_use` event' }),
    tool_use_id: Type.Optional(ToolUseId),
    ...toolResult,
    ...ofThread,
  }),
  event('user.compact', 'UserCompactEvent', {
    prompt_id: PromptId,
    model: Type.Optional(Nullable(Type.String())),
  }),
  event('session.status_running', 'SessionRunningEvent', { ...promptOf, ...ofThreads }),
  event('session.status_idle', 'SessionIdleEvent', {
    ...stop,
    result: Type.Optional(Type.Unknown({ description: 'The value of a run with a result schema' })),
    outcome: Type.Optional(LastVerdict),
    git: Type.Optional(
      Type.Object({ branches: Type.Array(Branch, { description: 'Branches that the run wrote' }) }, open),
    ),
    ...promptOf,
    ...ofThreads,
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
    trimmed_until: Type.Optional(
      Type.String({ description: 'Tool results up to that of this call are trimmed from this request on' }),
    ),
    purpose: Type.Optional(
      Type.Union([
        Type.Literal('compaction', { description: 'The request for a summary' }),
        Type.Literal('outcome_evaluation', { description: 'A request to the grader of an outcome' }),
      ]),
    ),
  }),
  event('span.model_request_end', 'ModelRequestEndEvent', {
    model_request_start_id: Type.Optional(Nullable(Type.String())),
    is_error: Type.Optional(Nullable(Type.Boolean())),
    model_usage: Type.Optional(Nullable(Tokens)),
    interrupted: Type.Optional(Type.Boolean({ description: 'True when the run was stopped during the request' })),
    estimated: Type.Optional(Type.Boolean({ description: 'True when the service estimated `model_usage`' })),
  }),
  event('span.outcome_evaluation_start', 'OutcomeEvaluationStartEvent', evaluation),
  event('span.outcome_evaluation_ongoing', 'OutcomeEvaluationOngoingEvent', evaluation),
  event('span.outcome_evaluation_end', 'OutcomeEvaluationEndEvent', {
    ...evaluation,
    outcome_evaluation_start_id: Type.String(),
    result: OutcomeVerdict,
    explanation: Type.String({ description: 'After `needs_revision`: which criteria are not met, and why' }),
    usage: Tokens,
  }),
  event('agent.message', 'AgentMessageEvent', {
    content: Content,
    interrupted: Type.Optional(Type.Boolean({ description: 'True when the run stopped while the model wrote it' })),
  }),
  event('agent.thinking', 'AgentThinkingEvent', { content: Type.Optional(Content) }),
  event('agent.tool_use', 'AgentToolUseEvent', { ...toolUse, ...ofThread }),
  event('agent.tool_result', 'AgentToolResultEvent', {
    tool_use_id: ToolUseId,
    ...toolResult,
  }),
  event('agent.custom_tool_use', 'AgentCustomToolUseEvent', {
    name: Type.String(),
    input: JsonObject,
    tool_use_id: Type.Optional(ToolUseId),
    timeout_seconds: Type.Optional(
      Type.Integer({ description: 'Seconds after which the call fails unless a client answers it' }),
    ),
    ...ofThread,
  }),
  event('agent.mcp_tool_use', 'AgentMcpToolUseEvent', {
    ...toolUse,
    ...ofThread,
    mcp_server_name: Type.Optional(Type.String()),
  }),
  event('agent.mcp_tool_result', 'AgentMcpToolResultEvent', {
    mcp_tool_use_id: ToolUseId,
    ...toolResult,
  }),
  event('session.thread_created', 'ThreadCreatedEvent', {
    ...thread,
    agent_name: Type.String(),
    session_id: Type.String({
      description: 'As `session_thread_id`; in a stream over many sessions, the session of the log',
    }),
  }),
  event('session.thread_status_running', 'ThreadRunningEvent', { ...thread, agent_name: AgentName }),
  event('session.thread_status_idle', 'ThreadIdleEvent', {
    ...thread,
    agent_name: AgentName,
    ...Type.Partial(Type.Object(stop)).properties,
  }),
  event('session.thread_status_terminated', 'ThreadTerminatedEvent', { ...thread, agent_name: AgentName }),
  event('agent.thread_message_sent', 'ThreadMessageSentEvent', {
    ...thread,
    to_session_thread_id: Type.Optional(Type.String({ description: 'As `session_thread_id`' })),
    to_agent_name: AgentName,
    content: Content,
  }),
  event('agent.thread_message_received', 'ThreadMessageReceivedEvent', {
    ...thread,
    from_session_thread_id: Type.Optional(Type.String({ description: 'As `session_thread_id`' })),
    from_agent_name: AgentName,
    content: Content,
    is_error: Type.Optional(Type.Boolean({ description: 'True when the called agent gave no answer' })),
  }),
  event('agent.thread_context_compacted', 'ContextCompactedEvent', {
    summary: Type.Optional(Type.String({ description: 'Replaces the conversation before `kept_from_seq`' })),
    kept_from_seq: Type.Optional(Type.Integer()),
    waiting_seqs: Type.Optional(
      Type.Array(Type.Integer(), {
        description: 'Earlier messages that enter the conversation after `kept_from_seq`, or have not entered yet',
      }),
    ),
    prompt_ids: Type.Optional(
      Type.Array(Type.String(), { description: 'Prompts of the run that the summary replaces' }),
    ),
    found_tools: Type.Optional(
      Type.Array(Type.String(), { description: 'Tools of MCP servers that the model has found with `search_tools`' }),
    ),
    tokens_before: Type.Optional(Type.Integer({ description: 'Estimated input tokens of a request' })),
    tokens_after: Type.Optional(Type.Integer()),
    reason: Type.Optional(Type.Union([Type.Literal('auto'), Type.Literal('request')])),
    outcome: Type.Optional(LastVerdict),
  }),
  event('session.usage', 'SessionUsageEvent', {
    usage: Type.Optional(Nullable(SessionTokens)),
    cost_usd: Type.Optional(Type.Number({ description: 'Cost that the runtime reports, in US dollars' })),
  }),
  event('session.updated', 'SessionUpdatedEvent', {
    title: Type.Optional(Nullable(Type.String())),
    metadata: Type.Optional(Nullable(JsonObject)),
  }),
  event('session.warning', 'SessionWarningEvent', {
    warning: Type.Object(
      {
        type: Type.String(),
        message: Type.String(),
        fields: Type.Optional(Type.Array(Type.String(), { description: 'With `ignored_fields`' })),
        files: Type.Optional(
          Type.Array(Type.Object({ path: Type.String(), reason: Type.String() }, open), {
            description: 'With `files_left_out`: at most 20',
          }),
        ),
        more: Type.Optional(Type.Integer({ description: 'With `files_left_out`: number of the other files' })),
      },
      open,
    ),
  }),
  event('session.workspace_restored', 'WorkspaceRestoredEvent', {
    checkpoint_id: Type.String(),
    checkpoint_seq: Type.Integer({ description: 'Event that the files belong to' }),
    files: Type.Integer(),
    bytes: Type.Integer(),
  }),
  event('session.repository_ready', 'RepositoryReadyEvent', {
    repository: SessionRepository,
    repaired: Type.Optional(
      Type.Boolean({ description: 'True when the commits were fetched again after the session had moved' }),
    ),
  }),
  event('session.repository_pushed', 'RepositoryPushedEvent', {
    branch: Type.String(),
    commit: Type.String(),
    pull_request: Nullable(PullRequest),
  }),
  event('session.files_changed', 'FilesChangedEvent', {
    path: Type.String(),
    change: Type.Union([Type.Literal('written'), Type.Literal('deleted')]),
    checkpoint_id: Type.Optional(Type.String()),
    sha256: Type.Optional(Type.String({ description: 'Hash of the written content, in hexadecimal digits' })),
    principal: Type.Optional(Type.String({ description: 'Principal that changed the file' })),
  }),
  event('session.forked', 'SessionForkedEvent', {
    forked_from: Type.Object({ session_id: Type.String(), seq: Type.Integer() }, open),
    context: Type.Union([Type.Literal('log'), Type.Literal('transcript')], {
      description: 'What the runtime reads of the copied events',
    }),
  }),
  event('session.deleted', 'SessionDeletedEvent', {}),
] as const
