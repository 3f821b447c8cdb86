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
    session_title: Type.String(),
    agent_id: Type.String(),
    tool_use_id: Type.String({ description: 'Id of the call at the runtime' }),
    name: Type.String(),
    input: Type.Unknown({ description: 'Arguments of the model, exactly as the tool would receive them' }),
    edited_input: Nullable(
      Type.Unknown({ description: 'Arguments that the call runs with instead, as the approver changed them' }),
    ),
    digest: Type.String({
      description: 'SHA-256 of name and arguments; send it with the answer to allow only these arguments',
    }),
    state: ApprovalState,
    approvers: Nullable(
      Type.Array(Type.String(), {
        description: 'Who may answer: key ids, roles, or `link`; null: every caller who may see the session',
      }),
    ),
    message: Nullable(Type.String({ description: 'Reason of the denial' })),
    decided_by: Nullable(Type.String({ description: 'Principal who decided, or `link`' })),
    decided_at: Nullable(Type.String({ format: 'date-time' })),
    expires_at: Type.String({ format: 'date-time' }),
    created_at: Type.String({ format: 'date-time' }),
  }),
)
export type Approval = Static<typeof Approval>

/** Longest time in which an approval may be answered, in milliseconds: 30 days. */
export const maxApprovalMs = 30 * 86_400_000

/** `config.approvals` of an agent: who may answer its approvals, and how long. */
export const ApprovalsConfig = named(
  'ApprovalsConfig',
  Type.Object({
    approvers: Type.Optional(
      Nullable(
        Type.Array(
          Type.String({
            pattern: '^(admin|user|link|key_[A-Za-z0-9_-]{1,100})$',
            description: 'A key id, a role (`admin` or `user`), or `link` for holders of the signed link',
          }),
          { minItems: 1, maxItems: 100 },
        ),
      ),
    ),
    expires_in: Type.Optional(
      Nullable(
        Type.String({
          pattern: '^[1-9][0-9]{0,6}(s|m|h|d)$',
          description: 'Time to answer, 1 s to 30 d: `30m`, `12h`; `24h` by default',
        }),
      ),
    ),
  }),
)

export const Verdict = named('ApprovalVerdict', Type.Union([Type.Literal('allow'), Type.Literal('deny')]))

/** Arguments of the person who allows a call. */
export const EditedInput = Type.Unknown({
  description:
    'Arguments that replace those of the model; must match the input schema of the tool. Only with `allow`, and only on the runtime `builtin`',
})

const nested = { access: 'key', errorShape: 'nested' } as const

const LinkQuery = Type.Object({
  token: Type.Optional(Type.String({ maxLength: 200, description: 'Token of the link' })),
})

export const approvalRoutes = {
  list: route({
    ...nested,
    id: 'approvals.list',
    method: 'GET',
    path: '/api/approvals',
    query: Type.Object({
      ...pageQuery,
      session_id: Type.Optional(Type.String({ maxLength: 200 })),
      agent_id: Type.Optional(Type.String({ maxLength: 200 })),
      state: Type.Optional(ApprovalState),
      is_open: Type.Optional(
        Type.Boolean({ description: 'True: only those that wait; false: the history, which has all others' }),
      ),
      order: Type.Optional(
        Type.Union([Type.Literal('asc'), Type.Literal('desc')], {
          description: '`desc` (default): newest first; `asc`: oldest first',
        }),
      ),
    }),
    responses: { 200: Type.Object({ approvals: Type.Array(Approval), next_cursor: NextCursor }) },
    summary: 'List approvals',
    description:
      'Lists tool calls that wait for a person or waited for one, with the arguments of the model, those of the person, and who decided. `state` and `is_open` filter.',
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
      input: Type.Optional(EditedInput),
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
      'Allows or denies a tool call, once. With `input` the call runs with those arguments instead. The run continues on any replica. Answers 403 when `config.approvals.approvers` of the agent does not list the caller, and 409 when the call was already decided or the approval has expired.',
  }),
  page: route({
    id: 'approvals.page',
    method: 'GET',
    path: '/approvals/{approval_id}',
    access: 'public',
    errorShape: 'nested',
    params: Type.Object({ approval_id: Type.String() }),
    query: LinkQuery,
    responses: { 200: Type.String(), 404: Type.String() },
    produces: 'text/html',
    summary: 'Open the signed link of an approval',
    description:
      'Shows the exact tool call and the two answers as a page without scripts. The token of the link is the only credential. Changes nothing. Answers 404 with the same page for a link that is invalid, used or expired.',
  }),
  answer: route({
    id: 'approvals.answer',
    method: 'POST',
    path: '/approvals/{approval_id}',
    access: 'public',
    errorShape: 'nested',
    params: Type.Object({ approval_id: Type.String() }),
    query: LinkQuery,
    body: Type.Object({ result: Verdict, message: Type.Optional(Type.String({ maxLength: 10_000 })) }),
    bodyLimit: 64 * 1024,
    consumes: 'application/x-www-form-urlencoded',
    responses: { 200: Type.String(), 404: Type.String() },
    produces: 'text/html',
    summary: 'Answer an approval by its signed link',
    description:
      'Allows or denies the tool call, once; the form of the page sends it. Answers 404 with the same page for a link that is invalid, used or expired.',
  }),
}
