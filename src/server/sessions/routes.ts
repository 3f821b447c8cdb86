import type { FastifyInstance } from 'fastify'
import type { SessionCreate } from '../../contract/new-sessions.ts'
import type { PromptRequest } from '../../contract/prompts.ts'
import type { Input } from '../../contract/route.ts'
import { sessionRoutes } from '../../contract/sessions.ts'
import { bind } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import { pageOf } from '../http/page.ts'
import { opencodeSession } from '../opencode/session.ts'
import { invalid } from '../platform/errors.ts'
import type { Fork } from './fork.ts'
import { messagesOf } from './log/conversation.ts'
import type { EventStore } from './log/event-store.ts'
import type { createPromptAnswer } from './prompt-answer.ts'
import { promptKey } from './queue/prompt-store.ts'
import type { SessionRow } from './session-row.ts'
import { toManagedSession, toSession } from './session-row.ts'
import type { SentPrompt, Sessions } from './sessions.ts'

interface Deps {
  readonly sessions: Sessions
  readonly fork: Fork
  readonly events: EventStore
  /** Combines the provider and model of a prompt into one name; calls `runtimeOf` only where the runtime matters. */
  readonly modelName: (
    model: NonNullable<PromptRequest['model']>,
    runtimeOf: () => Promise<string | undefined>,
  ) => Promise<string>
  /** Queues a prompt and waits for the answer. */
  readonly answer: ReturnType<typeof createPromptAnswer>
  /** Returns the folder of a session's files. */
  readonly workspaceOf: (sessionId: string) => string
}

type PromptInput = Pick<Input<typeof sessionRoutes.promptAsync>, 'params' | 'body'>
type CreateBody = NonNullable<Input<typeof sessionRoutes.create>['body']>

type ListFilter = Parameters<Sessions['list']>[0]

interface Listing {
  readonly query: Input<typeof sessionRoutes.children>['query']
  readonly caller: Caller
  readonly setHeader: (name: string, value: string) => void
}

/** Serves the session routes: `/session` and its Managed Agents equivalents. */
export function serveSessions(app: FastifyInstance, deps: Deps): void {
  const { sessions, modelName } = deps
  const managed = (row: SessionRow) => toManagedSession(row, deps.workspaceOf(row.id))
  const promptOf = async ({ params, body }: PromptInput, caller: Caller): Promise<SentPrompt> => {
    const { parts, model, system, mode, messageID, outcome } = body
    rejectUnsupported(body)
    // A missing session has no runtime; the queue rejects its prompt later.
    const runtimeOf = async () => (await sessions.among([params.session_id], caller))[0]?.runtime
    const id = params.session_id
    const named = model ? await modelName(model, runtimeOf) : await sessions.modelOf(id, caller)
    return { parts, model: named, system, mode, messageId: messageID, outputSchema: schemaIn(body), outcome }
  }

  const wanted = async ({ model, ...given }: CreateBody, caller: Caller): Promise<SessionCreate> => {
    const body = withoutNulls(given)
    if (model === undefined || model === null) return body
    if (typeof model === 'string') return { ...body, model }
    const { id: modelID, providerID } = model
    const named = { modelID, ...(providerID !== undefined && { providerID }) }
    return { ...body, model: await modelName(named, () => sessions.check(body, caller)) }
  }

  const listed = async (filter: ListFilter, { query, caller, setHeader }: Listing) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => sessions.list(filter, caller, page),
      ({ id }) => id,
    )
    if (next_cursor !== null) setHeader('x-next-cursor', next_cursor)
    return items.map(row => opencodeSession(toSession(row)))
  }

  bind(app, sessionRoutes.create, async ({ body }, caller, { idempotency, ignore }) => {
    const { session, ignored } = await sessions.create(await wanted(body ?? {}, caller), caller, idempotency)
    ignore(ignored)
    return opencodeSession(session)
  })
  bind(app, sessionRoutes.list, async ({ query }, caller, { setHeader }) => {
    const filter = { ...filterOf(query), withDeleted: false }
    return listed(filter, { query, caller, setHeader })
  })
  bind(app, sessionRoutes.get, async ({ params }, caller) =>
    opencodeSession(toSession(await sessions.open(params.session_id, caller))),
  )
  bind(app, sessionRoutes.children, async ({ params, query }, caller, { setHeader }) => {
    const { id: parentId } = await sessions.open(params.session_id, caller)
    const filter = { agentId: undefined, status: undefined, parentId, withDeleted: false }
    return listed(filter, { query, caller, setHeader })
  })
  bind(app, sessionRoutes.update, async ({ params, body }, caller) =>
    opencodeSession(toSession(await sessions.update(params.session_id, body, caller))),
  )
  bind(app, sessionRoutes.fork, async ({ params, body }, caller, { idempotency, ignore }) => {
    const { session, ignored } = await deps.fork(params.session_id, body ?? {}, { caller, idempotency })
    ignore(ignored)
    return opencodeSession(session)
  })
  bind(app, sessionRoutes.remove, async ({ params }, caller) => {
    await sessions.open(params.session_id, caller)
    await sessions.remove(params.session_id, caller)
    return true
  })
  bind(app, sessionRoutes.promptAsync, async ({ params, body }, caller, { idempotency, header }) => {
    // Only opencode clients omit it, and mean the agent's model. Source: Interface, Prompt request.
    if (!body.model && header('x-opencode-directory') === undefined) throw invalid('model is required')
    await sessions.prompt(params.session_id, await promptOf({ params, body }, caller), { caller, idempotency })
  })
  bind(app, sessionRoutes.abort, async ({ params }, caller) => {
    await sessions.interrupt(params.session_id, caller)
    return true
  })
  bind(app, sessionRoutes.interrupt, ({ params }, caller) => sessions.interrupt(params.session_id, caller))

  bind(app, sessionRoutes.messages, async ({ params, query }, caller) => {
    const { id } = await sessions.open(params.session_id, caller)
    return messagesOf(deps.events, id, query.limit)
  })
  bind(app, sessionRoutes.message, async ({ params, body }, caller, { idempotency, signal }) =>
    deps.answer(params.session_id, await promptOf({ params, body }, caller), { caller, idempotency, signal }),
  )
  bind(app, sessionRoutes.prompts, async ({ params, query }, caller) => {
    const load = (page: { after: string | undefined; limit: number }) => sessions.queue(params.session_id, caller, page)
    const { items, next_cursor } = await pageOf(query, load, promptKey)
    return { data: items, next_cursor }
  })
  bind(app, sessionRoutes.withdraw, ({ params }, caller) =>
    sessions.withdraw(params.session_id, params.prompt_id, caller),
  )

  bind(app, sessionRoutes.managedList, async ({ query }, caller) => {
    const filter = { ...filterOf(query), withDeleted: true }
    const { items, next_cursor } = await pageOf(
      query,
      page => sessions.list(filter, caller, page),
      ({ id }) => id,
    )
    return { data: items.map(managed), next_cursor }
  })
  bind(app, sessionRoutes.managedGet, async ({ params }, caller) =>
    managed(await sessions.find(params.session_id, caller)),
  )
  bind(app, sessionRoutes.managedRemove, ({ params }, caller) => sessions.remove(params.session_id, caller))
}

/** opencode clients send the schema as `format`. */
const schemaIn = ({ output_schema, format }: PromptRequest) =>
  output_schema ?? (format?.type === 'json_schema' ? format.schema : undefined)

/** Throws `invalid_request` for opencode fields that no runtime supports for a single prompt. */
function rejectUnsupported({ noReply, tools = {} }: PromptRequest): void {
  if (noReply) throw invalid('noReply is not supported: every prompt is answered; remove it')
  if (Object.keys(tools).length > 0)
    throw invalid('tools cannot be set for one prompt: they belong to the agent; remove it')
}

const filterOf = ({ agent_id, status, q, metadata }: Input<typeof sessionRoutes.managedList>['query']) => ({
  agentId: agent_id,
  status,
  text: q,
  metadata,
})

type WithoutNulls<T> = { [K in keyof T]: Exclude<T[K], null> }

/** Drops null values: null means absent. */
const withoutNulls = <T extends object>(given: T): WithoutNulls<T> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) as WithoutNulls<T>
