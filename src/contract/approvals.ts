import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { NextCursor, Nullable, pageQuery } from './schemas.ts'

export const ApprovalState = named(
  'ApprovalState',
  Type.Union([
    Type.Literal('pending'),
    Type.Literal('allowed'),
    Type.Literal('denied'),
    Type.Literal('expired'),
    Type.Literal('cancelled'),
  ]),
)
export type ApprovalState = Static<typeof ApprovalState>

/** A tool call that requires a person's approval. Gaps: section 13. */
export const Approval = named(
  'Approval',
  Type.Object({
    id: Type.String({ description: 'Id of the `agent.tool_use` event' }),
    session_id: Type.String(),
    agent_id: Type.String(),
    tool_use_id: Type.String({ description: 'Id of the call at the runtime' }),
    name: Type.String(),
    input: Type.Unknown({ description: 'Arguments, exactly as the tool would receive them' }),
    digest: Type.String({
      description: 'SHA-256 of name and arguments; send it with the answer to allow only these arguments',
    }),
    state: ApprovalState,
    message: Nullable(Type.String({ description: 'Reason of the denial' })),
    decided_by: Nullable(Type.String()),
    decided_at: Nullable(Type.String({ format: 'date-time' })),
    expires_at: Type.String({ format: 'date-time' }),
    created_at: Type.String({ format: 'date-time' }),
  }),
)
export type Approval = Static<typeof Approval>

export const Verdict = named('ApprovalVerdict', Type.Union([Type.Literal('allow'), Type.Literal('deny')]))

const nested = { access: 'key', errorShape: 'nested' } as const

export const approvalRoutes = {
  list: route({
    ...nested,
    id: 'approvals.list',
    method: 'GET',
    path: '/api/approvals',
    query: Type.Object({
      ...pageQuery,
      session_id: Type.Optional(Type.String({ maxLength: 200 })),
      state: Type.Optional(ApprovalState),
    }),
    responses: { 200: Type.Object({ approvals: Type.Array(Approval), next_cursor: NextCursor }) },
    summary: 'List approvals',
    description: 'Lists tool calls that wait for a person or waited for one, newest first; `state` filters.',
  }),
  decide: route({
    ...nested,
    id: 'approvals.decide',
    method: 'POST',
    path: '/api/approvals/{approval_id}',
    params: Type.Object({ approval_id: Type.String() }),
    body: Type.Object({
      result: Verdict,
      message: Type.Optional(
        Type.String({ maxLength: 10_000, description: 'Message to the model when the call is denied' }),
      ),
      digest: Type.Optional(
        Type.String({
          maxLength: 64,
          description: 'Must equal the digest of the approval; otherwise the answer is 409',
        }),
      ),
    }),
    responses: { 200: Approval },
    summary: 'Decide an approval',
    description:
      'Allows or denies a tool call, once. The run continues on any replica. Answers 409 when the call was already decided.',
  }),
}
