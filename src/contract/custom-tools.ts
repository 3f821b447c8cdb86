import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { DocumentWrite, ImageWrite, promptBodyLimit } from './prompt-files.ts'
import { route } from './route.ts'
import { NextCursor, Nullable, pageQuery } from './schemas.ts'

export const CustomToolCallState = named(
  'CustomToolCallState',
  Type.Union([Type.Literal('pending'), Type.Literal('answered'), Type.Literal('expired'), Type.Literal('cancelled')]),
)
export type CustomToolCallState = Static<typeof CustomToolCallState>

/** Characters of all texts of a result. */
export const maxCustomResultChars = 262_144
/** Bytes of one image or document of a result, and of all together. */
export const maxCustomMediaBytes = 3_750_000
export const maxCustomMediaTotal = 7_500_000

const TextBlock = Type.Object({ type: Type.Literal('text'), text: Type.String({ maxLength: maxCustomResultChars }) })

/** Result of a custom tool. */
const ResultWrite = Type.Array(Type.Union([TextBlock, ImageWrite, DocumentWrite]), {
  maxItems: 100,
  description: `Texts with at most ${maxCustomResultChars} characters together; images (PNG, JPEG, GIF, WebP) and PDF files in base64, with at most ${maxCustomMediaBytes} bytes each and ${maxCustomMediaTotal} together`,
})

/** An image or a document of a result; the event of the answer has its content. */
const ResultMedia = named(
  'ResultMedia',
  Type.Object({
    type: Type.Union([Type.Literal('image'), Type.Literal('document')]),
    media_type: Type.String(),
    size: Type.Integer({ description: 'Bytes' }),
    sha256: Type.String({ description: 'Hash of the content, in hexadecimal digits' }),
  }),
)
export type ResultMedia = Static<typeof ResultMedia>

const ResultContent = Type.Array(
  Type.Union([Type.Object({ type: Type.Literal('text'), text: Type.String() }), ResultMedia]),
)

/** Fields with which a client answers a call. */
export const customToolAnswer = {
  content: Type.Optional(ResultWrite),
  is_error: Type.Optional(Nullable(Type.Boolean(), 'True tells the model that the call failed')),
}

/** A call of a tool that a client runs. Gaps: section 12. */
export const CustomToolCall = named(
  'CustomToolCall',
  Type.Object({
    id: Type.String({ description: 'Id of the `agent.custom_tool_use` event' }),
    session_id: Type.String(),
    agent_id: Type.String(),
    tool_use_id: Type.String({ description: 'Id of the call at the runtime' }),
    name: Type.String(),
    input: Type.Unknown({ description: 'Arguments of the model; they match `input_schema`' }),
    state: CustomToolCallState,
    content: Nullable(ResultContent, 'The answer; null without one'),
    is_error: Nullable(Type.Boolean()),
    answered_by: Nullable(Type.String()),
    answered_at: Nullable(Type.String({ format: 'date-time' })),
    expires_at: Type.String({ format: 'date-time', description: 'When the call fails without an answer' }),
    created_at: Type.String({ format: 'date-time' }),
  }),
)
export type CustomToolCall = Static<typeof CustomToolCall>

const base = { access: 'key', errorShape: 'nested' } as const

export const customToolRoutes = {
  list: route({
    ...base,
    id: 'custom_tools.list',
    method: 'GET',
    path: '/api/custom-tool-calls',
    query: Type.Object({
      ...pageQuery,
      session_id: Type.Optional(Type.String({ maxLength: 200 })),
      state: Type.Optional(CustomToolCallState),
    }),
    responses: { 200: Type.Object({ custom_tool_calls: Type.Array(CustomToolCall), next_cursor: NextCursor }) },
    summary: 'List custom tool calls',
    description: 'Lists calls of custom tools, newest first; `state=pending` lists those that wait for an answer.',
  }),
  answer: route({
    ...base,
    id: 'custom_tools.answer',
    method: 'POST',
    path: '/api/custom-tool-calls/{custom_tool_use_id}',
    bodyLimit: promptBodyLimit,
    params: Type.Object({ custom_tool_use_id: Type.String() }),
    body: Type.Object(customToolAnswer),
    responses: { 200: CustomToolCall },
    summary: 'Answer a custom tool call',
    description:
      'Sends the result of a custom tool to the model, once. The run continues on any replica when all custom tool calls of the turn are answered. The same answer again is accepted and has no effect; another answer, or an answer after the end of the wait, is 409.',
  }),
}
