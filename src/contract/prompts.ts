import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { OutcomeWrite, PromptOutcome } from './outcomes.ts'
import { FilePart, FilePartWrite } from './prompt-files.ts'
import { Nullable } from './schemas.ts'

/** Text of a prompt. */
export const PromptText = Type.String({ maxLength: 1_000_000, pattern: '\\S' })

export const PromptMode = named(
  'PromptMode',
  Type.Union([Type.Literal('enqueue'), Type.Literal('reject'), Type.Literal('interrupt'), Type.Literal('steer')]),
)
export type PromptMode = Static<typeof PromptMode>

const TextPart = named('TextPart', Type.Object({ type: Type.Literal('text'), text: PromptText }))

/** Part of a prompt as a client sends it. */
export const PromptPartWrite = named('PromptPartWrite', Type.Union([TextPart, FilePartWrite]))
export type PromptPartWrite = Static<typeof PromptPartWrite>

/** Part of a stored prompt. */
export const PromptPart = named('PromptPart', Type.Union([TextPart, FilePart]))
export type PromptPart = Static<typeof PromptPart>

/** Interface: Resources, Prompt request. */
export const PromptRequest = named(
  'PromptRequest',
  Type.Object({
    model: Type.Optional(
      Type.Object(
        {
          modelID: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
          providerID: Type.Optional(Type.String({ maxLength: 200 })),
        },
        { description: 'Required on prompt_async; elsewhere the agent’s by default' },
      ),
    ),
    parts: Type.Array(PromptPartWrite, { minItems: 1, maxItems: 1000 }),
    messageID: Type.Optional(
      Type.String({ minLength: 1, maxLength: 255, description: 'A repeated id queues nothing' }),
    ),
    system: Type.Optional(Type.String({ maxLength: 1_000_000, description: 'System prompt for this prompt only' })),
    mode: Type.Optional(PromptMode),
    output_schema: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'JSON Schema of the answer, at most 64 KB; the validated answer is also in `result`',
      }),
    ),
    outcome: Type.Optional(OutcomeWrite),
    format: Type.Optional(
      Type.Union(
        [
          Type.Object({ type: Type.Literal('text') }),
          Type.Object({ type: Type.Literal('json_schema'), schema: Type.Record(Type.String(), Type.Unknown()) }),
        ],
        { description: 'opencode’s name for `output_schema`' },
      ),
    ),
    noReply: Type.Optional(Type.Boolean({ description: 'Must not be true: each prompt has an answer' })),
    tools: Type.Optional(
      Type.Record(Type.String(), Type.Boolean(), { description: 'Must be empty: the agent defines the tools' }),
    ),
  }),
)
export type PromptRequest = Static<typeof PromptRequest>

export const PromptState = named(
  'PromptState',
  Type.Union([
    Type.Literal('waiting'),
    Type.Literal('running'),
    Type.Literal('done'),
    Type.Literal('error'),
    Type.Literal('cancelled'),
  ]),
)
export type PromptState = Static<typeof PromptState>

/** `compact`: a request to compact the conversation, without a message. */
export const PromptKind = named('PromptKind', Type.Union([Type.Literal('prompt'), Type.Literal('compact')]))
export type PromptKind = Static<typeof PromptKind>

/** One prompt of a session's queue. `position` is its place in the order of execution. */
export const Prompt = named(
  'Prompt',
  Type.Object({
    id: Type.String(),
    position: Type.Integer(),
    kind: PromptKind,
    state: PromptState,
    held_by: Nullable(
      Type.Union([
        Type.Literal('approval', { description: 'A tool call waits for a person' }),
        Type.Literal('budget', { description: 'A budget stopped it; it resumes once the budget has room' }),
        Type.Literal('custom_tool', { description: 'A call of a custom tool waits for a client' }),
        Type.Literal('freeze', { description: 'Spending is frozen; it resumes once the freeze is lifted' }),
        Type.Literal('subagent', { description: 'A called agent has not answered' }),
        Type.Literal('retry', { description: 'A provider failed; it resumes after a delay' }),
      ]),
    ),
    parts: Type.Array(PromptPart),
    model: Type.String(),
    output_schema: Nullable(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'JSON Schema of the answer; null: that of the agent',
      }),
    ),
    outcome: Nullable(PromptOutcome),
    created_at: Type.String({ format: 'date-time' }),
  }),
)
export type Prompt = Static<typeof Prompt>
