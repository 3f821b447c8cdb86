import { type Static, Type } from 'typebox'
import { InjectionReason, Memory } from './memories.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, JsonObject, Nullable, VersionNumber } from './schemas.ts'

const Tokens = Type.Integer({ description: 'Estimated from the number of bytes' })

export const ContextPartKind = named(
  'ContextPartKind',
  Type.Union(
    [
      Type.Literal('system'),
      Type.Literal('skill'),
      Type.Literal('environment'),
      Type.Literal('memories'),
      Type.Literal('application'),
      Type.Literal('failed_tools'),
      Type.Literal('output_schema'),
      Type.Literal('prompt'),
    ],
    {
      description:
        '`environment`: notes about files and time zone; `application`: instructions, context and state of a front-end; `failed_tools`: tools that a run lacks; `output_schema`: instruction to answer with JSON; `prompt`: the prompt in the query',
    },
  ),
)
export type ContextPartKind = Static<typeof ContextPartKind>

/** A text of the prompt, as the model gets it. */
export const ContextPart = named(
  'ContextPart',
  Type.Object({
    kind: ContextPartKind,
    source_id: Nullable(Type.String({ description: 'Agent, skill or session that the text comes from' })),
    name: Nullable(Type.String({ description: 'Name of the skill' })),
    text: Type.String(),
    estimated_tokens: Tokens,
  }),
)
export type ContextPart = Static<typeof ContextPart>

/** A memory of the agent, and why the model gets it or not. */
export const ContextMemory = named(
  'ContextMemory',
  Type.Object({
    memory: Memory,
    injected: Type.Boolean(),
    reason: InjectionReason,
    message: Type.String(),
    estimated_tokens: Tokens,
  }),
)
export type ContextMemory = Static<typeof ContextMemory>

/** A tool of the agent, as the model gets it. */
export const ContextTool = named(
  'ContextTool',
  Type.Object({
    name: Type.String(),
    description: Type.String(),
    input_schema: JsonObject,
    mcp_server: Nullable(Type.String({ description: 'MCP server of the tool; null for all other tools' })),
    policy: Type.Union([Type.Literal('allow'), Type.Literal('ask'), Type.Literal('deny')]),
    is_shown: Type.Boolean({
      description:
        'False for tools that the policy denies, and for those that the model must find with the tool search',
    }),
    estimated_tokens: Tokens,
  }),
)
export type ContextTool = Static<typeof ContextTool>

const common = {
  agent_id: Type.String(),
  agent_version: Nullable(Type.Integer()),
  runtime: Type.String(),
  model: Type.String(),
  context_window: Nullable(Type.Integer({ description: 'Tokens; null when it is unknown' })),
  parts: Type.Array(ContextPart, { description: 'In the order of the request' }),
  memories: Type.Array(ContextMemory, { description: 'The first 200 memories of the agent, the injected ones first' }),
  tools: Type.Array(ContextTool, { description: 'In the order of the request' }),
  is_complete: Type.Boolean({
    description: 'False when the runtime adds texts or tools that this service does not know',
  }),
  notes: Type.Array(Type.String(), { description: 'What the lists lack, and why' }),
}

/** The prompt of a new session of an agent. */
export const AgentContext = named(
  'AgentContext',
  Type.Object({
    ...common,
    estimated_tokens: Type.Integer({ description: 'Of the parts and of the tools that are shown' }),
  }),
)
export type AgentContext = Static<typeof AgentContext>

/** A summary that replaced the start of the conversation. */
export const ContextCompaction = named(
  'ContextCompaction',
  Type.Object({
    event_id: Type.String(),
    seq: Type.Integer(),
    at: DateTime,
    reason: Nullable(Type.Union([Type.Literal('auto'), Type.Literal('request')])),
    tokens_before: Nullable(Type.Integer({ description: 'null when the runtime does not report it' })),
    tokens_after: Nullable(Type.Integer()),
  }),
)
export type ContextCompaction = Static<typeof ContextCompaction>

/** The last request of a session to its model. */
export const LastModelRequest = named(
  'LastModelRequest',
  Type.Object({
    event_id: Type.String({ description: 'Of `span.model_request_start`' }),
    seq: Type.Integer(),
    at: DateTime,
    model: Type.String(),
    input_tokens: Nullable(
      Type.Integer({ description: 'As the provider counted them, cached ones included; null before the answer' }),
    ),
    cached_tokens: Nullable(Type.Integer({ description: 'Those that the provider read from its cache' })),
    output_tokens: Nullable(Type.Integer()),
  }),
)
export type LastModelRequest = Static<typeof LastModelRequest>

/** The next request of a session to its model. */
export const SessionContext = named(
  'SessionContext',
  Type.Object({
    session_id: Type.String(),
    ...common,
    conversation: Nullable(
      Type.Object({
        messages: Type.Integer(),
        estimated_tokens: Tokens,
      }),
      'Messages that follow the prompt; null when the runtime stores the conversation itself',
    ),
    last_request: Nullable(LastModelRequest, 'null before the first request'),
    compactions: Type.Array(ContextCompaction, { description: 'The last 50, newest first' }),
    estimated_tokens: Type.Integer({
      description: 'Of the parts, of the tools that are shown, and of the conversation',
    }),
  }),
)
export type SessionContext = Static<typeof SessionContext>

const base = { access: 'key', errorShape: 'nested', method: 'GET' } as const

export const agentContext = route({
  ...base,
  id: 'agents.context',
  path: '/api/agents/{agent_id}/context',
  params: Type.Object({ agent_id: Type.String() }),
  query: Type.Object({
    version: Type.Optional(VersionNumber('Version of the agent; the current one by default')),
    prompt: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 10_000,
        description: 'Text of a first prompt, which becomes the last part. It does not affect the memories',
      }),
    ),
  }),
  responses: { 200: AgentContext },
  summary: 'Preview the prompt of an agent',
  description:
    'Returns the prompt and the tools that the model gets in a new session of the agent, with estimated tokens, and why each memory is in it or not. ' +
    'Calls no model and no MCP server, and changes nothing: tools of MCP servers are those of the last accepted list that your key may use.',
})

export const sessionContext = route({
  ...base,
  id: 'sessions.context',
  path: '/api/sessions/{session_id}/context',
  params: Type.Object({ session_id: Type.String() }),
  responses: { 200: SessionContext },
  summary: 'Read the context of a session',
  description:
    'Returns what the next model request of the session contains: the parts of the prompt, the memories and why, the tools, the size of the conversation and its compactions. ' +
    'Calls no model and no MCP server, and changes nothing. Answers 404 once the log is deleted.',
})
