import type { FastifyInstance } from 'fastify'
import { budgetReached, endsRun, type SessionEvent } from '../../contract/events.ts'
import type { Input } from '../../contract/route.ts'
import { type OpencodeMessage, type PromptRequest, type SessionCreate, sessionRoutes } from '../../contract/sessions.ts'
import { bind } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import { pageOf } from '../http/page.ts'
import { AppError } from '../platform/errors.ts'
import type { EventStore } from './event-store.ts'
import { opencodeMessages } from './opencode-messages.ts'
import { opencodeSession } from './opencode-session.ts'
import type { PromptWrite } from './prompt-queue.ts'
import { promptKey } from './prompt-store.ts'
import type { SessionRow } from './session-store.ts'
import { toManagedSession, toSession } from './session-store.ts'
import type { Sessions } from './sessions.ts'
import type { WaitForPrompt } from './wait-for-prompt.ts'

interface Deps {
  readonly sessions: Sessions
  readonly events: EventStore
  /** Turns a prompt's provider and model into one name; asks what the session runs on where that makes a difference. */
  readonly modelName: (model: PromptRequest['model'], runtimeOf: () => Promise<string | undefined>) => Promise<string>
  readonly waitForPrompt: WaitForPrompt
  /** The folder of a session's files. */
  readonly workspaceOf: (sessionId: string) => string
}

type PromptInput = Pick<Input<typeof sessionRoutes.promptAsync>, 'params' | 'body'>
type CreateBody = NonNullable<Input<typeof sessionRoutes.create>['body']>

const maxMessageEvents = 10_000

/** The session routes: `/session` and its managed-agents twins. */
export function serveSessions(app: FastifyInstance, deps: Deps): void {
  const { sessions, modelName } = deps
  const managed = (row: SessionRow) => toManagedSession(row, deps.workspaceOf(row.id))
  const promptOf = async ({ params, body }: PromptInput, caller: Caller): Promise<PromptWrite> => {
    const { parts, model, system, mode, messageID } = body
    // One that is not there has no runtime: the queue refuses the prompt.
    const runtimeOf = async () => (await sessions.among([params.session_id], caller))[0]?.runtime
    return { parts, model: await modelName(model, runtimeOf), system, mode, messageId: messageID }
  }

  const wanted = async ({ model, ...body }: CreateBody, caller: Caller): Promise<SessionCreate> => {
    if (model === undefined) return body
    if (typeof model === 'string') return { ...body, model }
    const { id: modelID, providerID } = model
    const named = { modelID, ...(providerID !== undefined && { providerID }) }
    return { ...body, model: await modelName(named, () => sessions.check(body, caller)) }
  }

  bind(app, sessionRoutes.create, async ({ body }, caller, { idempotency }) =>
    opencodeSession(await sessions.create(await wanted(body ?? {}, caller), caller, idempotency)),
  )
  bind(app, sessionRoutes.list, async ({ query }, caller, { setHeader }) => {
    const filter = { agentId: query.agent_id, status: query.status, withDeleted: false }
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
  bind(app, sessionRoutes.update, async ({ params, body: { title } }, caller) => {
    const { session_id: id } = params
    const row = title === undefined ? await sessions.open(id, caller) : await sessions.rename(id, title, caller)
    return opencodeSession(toSession(row))
  })
  bind(app, sessionRoutes.remove, async ({ params }, caller) => {
    await sessions.open(params.session_id, caller)
    await sessions.remove(params.session_id, caller)
    return true
  })
  bind(app, sessionRoutes.promptAsync, async ({ params, body }, caller, { idempotency }) => {
    await sessions.prompt(params.session_id, await promptOf({ params, body }, caller), { caller, idempotency })
  })
  bind(app, sessionRoutes.abort, async ({ params }, caller) => {
    await sessions.interrupt(params.session_id, caller)
    return true
  })
  bind(app, sessionRoutes.interrupt, ({ params }, caller) => sessions.interrupt(params.session_id, caller))

  bind(app, sessionRoutes.messages, async ({ params, query }, caller) => {
    const { id } = await sessions.open(params.session_id, caller)
    const messages = opencodeMessages(id, await deps.events.page(id, 0, maxMessageEvents))
    return query.limit === undefined ? messages : messages.slice(-query.limit)
  })
  bind(app, sessionRoutes.message, async ({ params, body }, caller, { idempotency, signal }) => {
    const prompt = await promptOf({ params, body }, caller)
    const promptId = await sessions.prompt(params.session_id, prompt, { caller, idempotency })
    const how = await deps.waitForPrompt(params.session_id, promptId, signal)
    const log = await deps.events.page(params.session_id, 0, maxMessageEvents)
    if (how === 'paused') throw outOfBudget(promptId, log)
    return answerTo(promptId, params.session_id, log)
  })
  bind(app, sessionRoutes.prompts, async ({ params, query }, caller) => {
    const load = (page: { after: string | undefined; limit: number }) => sessions.queue(params.session_id, caller, page)
    const { items, next_cursor } = await pageOf(query, load, promptKey)
    return { data: items, next_cursor }
  })
  bind(app, sessionRoutes.withdraw, ({ params }, caller) =>
    sessions.withdraw(params.session_id, params.prompt_id, caller),
  )

  bind(app, sessionRoutes.managedList, async ({ query }, caller) => {
    const filter = { agentId: query.agent_id, status: query.status, withDeleted: true }
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

/** The assistant's message for a prompt; a prompt that was cancelled before it ran has none. */
function answerTo(promptId: string, sessionId: string, log: readonly SessionEvent[]): OpencodeMessage {
  const answer = opencodeMessages(sessionId, log).find(({ info }) => info['parentID'] === promptId)
  if (answer) return answer
  const wasSeen = log.some(event => endsRun(event) && event['prompt_id'] === promptId)
  throw new AppError(
    'conflict',
    wasSeen ? 'the prompt ended without an answer' : 'the prompt was cancelled before it ran',
  )
}

/** The session waits for a budget; the prompt is kept. */
function outOfBudget(promptId: string, log: readonly SessionEvent[]): AppError {
  const stop = log.findLast(event => budgetReached(event))
  const { message } = (stop?.['stop_details'] ?? {}) as { readonly message?: string }
  const why = message ?? 'a budget of this session is used up'
  return new AppError('budget_exceeded', `${why}; prompt ${promptId} is kept, and goes on once there is room`)
}
