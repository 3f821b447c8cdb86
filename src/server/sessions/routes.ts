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
import type { PromptWrite } from './queue/prompt-queue.ts'
import { promptKey } from './queue/prompt-store.ts'
import type { SessionRow } from './session-row.ts'
import { toManagedSession, toSession } from './session-row.ts'
import type { Sessions } from './sessions.ts'

interface Deps {
  readonly sessions: Sessions
  readonly fork: Fork
  readonly events: EventStore
  /** Turns a prompt's provider and model into one name; asks what the session runs on where that makes a difference. */
  readonly modelName: (
    model: NonNullable<PromptRequest['model']>,
    runtimeOf: () => Promise<string | undefined>,
  ) => Promise<string>
  /** Queues a prompt and waits for what is answered to it. */
  readonly answer: ReturnType<typeof createPromptAnswer>
  /** The folder of a session's files. */
  readonly workspaceOf: (sessionId: string) => string
}

type PromptInput = Pick<Input<typeof sessionRoutes.promptAsync>, 'params' | 'body'>
type CreateBody = NonNullable<Input<typeof sessionRoutes.create>['body']>

/** The session routes: `/session` and its managed-agents twins. */
export function serveSessions(app: FastifyInstance, deps: Deps): void {
  const { sessions, modelName } = deps
  const managed = (row: SessionRow) => toManagedSession(row, deps.workspaceOf(row.id))
  const promptOf = async ({ params, body }: PromptInput, caller: Caller): Promise<PromptWrite> => {
    const { parts, model, system, mode, messageID } = body
    refuseUnserved(body)
    // One that is not there has no runtime: the queue refuses the prompt.
    const runtimeOf = async () => (await sessions.among([params.session_id], caller))[0]?.runtime
    const id = params.session_id
    const named = model ? await modelName(model, runtimeOf) : await sessions.modelOf(id, caller)
    return { parts, model: named, system, mode, messageId: messageID, outputSchema: schemaIn(body) }
  }

  const wanted = async ({ model, ...given }: CreateBody, caller: Caller): Promise<SessionCreate> => {
    const body = withoutNulls(given)
    if (model === undefined || model === null) return body
    if (typeof model === 'string') return { ...body, model }
    const { id: modelID, providerID } = model
    const named = { modelID, ...(providerID !== undefined && { providerID }) }
    return { ...body, model: await modelName(named, () => sessions.check(body, caller)) }
  }

  bind(app, sessionRoutes.create, async ({ body }, caller, { idempotency, ignore }) => {
    const { session, ignored } = await sessions.create(await wanted(body ?? {}, caller), caller, idempotency)
    ignore(ignored)
    return opencodeSession(session)
  })
  bind(app, sessionRoutes.list, async ({ query }, caller, { setHeader }) => {
    const filter = { ...filterOf(query), withDeleted: false }
    const { items, next_cursor } = await pageOf(
      query,
      page => sessions.list(filter, caller, page),
      ({ id }) => id,
    )
    if (next_cursor !== null) setHeader('x-next-cursor', next_cursor)
    return items.map(row => opencodeSession(toSession(row)))
  })
  bind(app, sessionRoutes.get, async ({ params }, caller) =>
    opencodeSession(toSession(await sessions.open(params.session_id, caller))),
  )
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
    // Only opencode's clients leave it out, and mean the model of the agent. Interface: Prompt request.
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

/** opencode's clients have another word for it. */
const schemaIn = ({ output_schema, format }: PromptRequest) =>
  output_schema ?? (format?.type === 'json_schema' ? format.schema : undefined)

/** Throws `invalid` for what opencode's clients may ask of a prompt, and no runtime of ours can do for one prompt alone. */
function refuseUnserved({ noReply, tools = {} }: PromptRequest): void {
  if (noReply) throw invalid('noReply is not possible: each prompt has an answer; leave it out')
  if (Object.keys(tools).length > 0)
    throw invalid('tools cannot be chosen for a prompt: they are those of the agent; leave it out')
}

const filterOf = ({ agent_id, status, q, metadata }: Input<typeof sessionRoutes.managedList>['query']) => ({
  agentId: agent_id,
  status,
  text: q,
  metadata,
})

type WithoutNulls<T> = { [K in keyof T]: Exclude<T[K], null> }

/** Null means absent. */
const withoutNulls = <T extends object>(given: T): WithoutNulls<T> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) as WithoutNulls<T>
