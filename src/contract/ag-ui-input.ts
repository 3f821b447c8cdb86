import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { JsonObject, Nullable } from './schemas.ts'

/** Clients of later versions send fields that this one does not know. */
const open = { additionalProperties: true } as const

/** PostgreSQL stores no NUL, and an id with a line break is of no use. */
const Id = (description: string) =>
  Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\u0000-\\u001f]+$', description })

/** Limits of what a front-end gives to the model with each run. */
export const maxContextEntries = 100
export const maxStateChars = 100_000
export const maxContextChars = 200_000

/** Any JSON value; the values are checked where they are used. */
const Value = (description: string) => Type.Unknown({ description })

/** A message of the conversation as the front-end has it. The content depends on the role. */
const AgUiMessage = named(
  'AgUiMessage',
  Type.Object(
    {
      id: Id('Chosen by who wrote the message'),
      role: Type.String({
        maxLength: 50,
        description: '`user`, `assistant`, `tool`, `system`, `developer`, `reasoning` or `activity`',
      }),
      content: Type.Optional(
        Value('A text; for `user` and `tool` also a list of parts: `text`, `image`, `audio`, `video`, `document`'),
      ),
      toolCallId: Type.Optional(Nullable(Type.String({ maxLength: 255 }), 'With `tool`: the call that it answers')),
      error: Type.Optional(Nullable(Type.String(), 'With `tool`: why the tool failed')),
    },
    open,
  ),
)
export type AgUiMessage = Static<typeof AgUiMessage>

/** A tool that the front-end runs. */
const AgUiTool = named(
  'AgUiTool',
  Type.Object(
    {
      name: Type.String({ description: '1 to 128 letters, digits, `_` and `-`' }),
      description: Type.String(),
      parameters: Type.Optional(Nullable(JsonObject, 'JSON Schema of the arguments, with `"type": "object"`')),
    },
    open,
  ),
)
export type AgUiTool = Static<typeof AgUiTool>

/** Answer to an interrupt of the run before. */
const AgUiResume = named(
  'AgUiResume',
  Type.Object(
    {
      interruptId: Type.String({ maxLength: 255 }),
      status: Type.Union([Type.Literal('resolved'), Type.Literal('cancelled')]),
      payload: Type.Optional(
        Value('`{"approved": true}` or `{"approved": false, "reason": "…"}`; with `editedArgs` for other arguments'),
      ),
    },
    open,
  ),
)
export type AgUiResume = Static<typeof AgUiResume>

const Context = Type.Object(
  { description: Type.String({ maxLength: 10_000 }), value: Type.String({ maxLength: maxContextChars }) },
  open,
)

/** Request to run an agent. Older clients send null for what they omit. */
export const AgUiRunInput = named(
  'AgUiRunInput',
  Type.Object({
    threadId: Id('The conversation: a session of the agent, which its first run creates'),
    runId: Id('Chosen by the front-end; the same id again follows the same run'),
    protocolVersion: Type.Optional(Nullable(Type.String({ maxLength: 20 }), 'The version that the front-end speaks')),
    parentRunId: Type.Optional(Nullable(Type.String({ maxLength: 255 }), 'Repeated in `RUN_STARTED`')),
    messages: Type.Array(AgUiMessage, {
      maxItems: 10_000,
      description: 'The conversation as the front-end has it; only what is new in it is used',
    }),
    tools: Type.Optional(Nullable(Type.Array(AgUiTool), 'Tools that the front-end runs')),
    context: Type.Optional(Nullable(Type.Array(Context, { maxItems: maxContextEntries }), 'Facts for the model')),
    state: Type.Optional(Value(`State that front-end and agent share; at most ${maxStateChars} characters as JSON`)),
    resume: Type.Optional(
      Nullable(Type.Array(AgUiResume, { maxItems: 100 }), 'Answers to the interrupts of the run before'),
    ),
    forwardedProps: Type.Optional(Value('Not used')),
  }),
)
export type AgUiRunInput = Static<typeof AgUiRunInput>
