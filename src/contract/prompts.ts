import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { Nullable } from './schemas.ts'

/** The words of a prompt. */
export const PromptText = Type.String({ maxLength: 1_000_000, pattern: '\\S' })

export const PromptMode = named(
  'PromptMode',
  Type.Union([Type.Literal('enqueue'), Type.Literal('reject'), Type.Literal('interrupt'), Type.Literal('steer')]),
)
export type PromptMode = Static<typeof PromptMode>

export const PromptPart = named('PromptPart', Type.Object({ type: Type.Literal('text'), text: PromptText }))
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
    parts: Type.Array(PromptPart, { minItems: 1, maxItems: 1000 }),
    messageID: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Repeating it queues nothing' })),
    system: Type.Optional(Type.String({ maxLength: 1_000_000, description: 'System prompt of this prompt alone' })),
    mode: Type.Optional(PromptMode),
    output_schema: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'JSON Schema that the answer has to fit, at most 64 KB; the answer is then `result` as well',
      }),
    ),
    format: Type.Optional(
      Type.Union(
        [
          Type.Object({ type: Type.Literal('text') }),
          Type.Object({ type: Type.Literal('json_schema'), schema: Type.Record(Type.String(), Type.Unknown()) }),
        ],
        { description: 'opencode’s word for `output_schema`' },
      ),
    ),
    noReply: Type.Optional(Type.Boolean({ description: 'True is refused: each prompt has an answer' })),
    tools: Type.Optional(
      Type.Record(Type.String(), Type.Boolean(), { description: 'Refused unless empty: tools are those of the agent' }),
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

/** `compact`: no message, but the request to compact the conversation. */
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
        Type.Literal('approval', { description: 'A tool call of it waits for a person' }),
        Type.Literal('budget', { description: 'A budget stopped it; it continues by itself once there is room' }),
        Type.Literal('freeze', { description: 'Spending is frozen; it continues by itself once that is lifted' }),
        Type.Literal('retry', { description: 'A provider failed; it continues by itself after a while' }),
      ]),
    ),
    parts: Type.Array(PromptPart),
    model: Type.String(),
    output_schema: Nullable(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'What the answer has to fit; null: what the agent has',
      }),
    ),
    created_at: Type.String({ format: 'date-time' }),
  }),
)
export type Prompt = Static<typeof Prompt>
