import type { PoolClient } from 'pg'
import type { UserContent } from '../../contract/event-routes.ts'
import type { SessionCreate } from '../../contract/new-sessions.ts'
import type { DefineOutcome } from '../../contract/outcomes.ts'
import type { Session } from '../../contract/sessions.ts'
import type { Agents } from '../agents/agents.ts'
import type { AgentStore } from '../agents/store.ts'
import type { BudgetStore } from '../budgets/store.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { invalid } from '../platform/errors.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { EventTransaction } from './event-transaction.ts'
import type { PreparedParts, PromptFiles } from './files/prompt-files.ts'
import { type SentPart, sentParts } from './files/sent-file.ts'
import { ignoredWarning } from './ignored-warning.ts'
import type { Appended, EventLog } from './log/event-log.ts'
import { planSession, type SessionPlan } from './new-session.ts'
import { checkOutcomes, outcomeMessage, type PreparedMessage } from './outcome.ts'
import type { PromptQueue } from './queue/prompt-queue.ts'
import type { SessionCache } from './session-cache.ts'
import { toSession } from './session-row.ts'
import type { SessionStore } from './session-store.ts'

export interface CreationDeps {
  readonly store: SessionStore
  readonly eventLog: EventLog
  readonly agents: Pick<AgentStore, 'find' | 'version' | 'within'>
  readonly budgets: Pick<BudgetStore, 'setLimits'>
  readonly runtimes: Pick<RuntimeRegistry, 'find' | 'unavailableReason' | 'findings'>
  readonly queue: PromptQueue
  readonly promptFiles: Pick<PromptFiles, 'prepare' | 'textOf'>
  readonly defaultModel: () => string
  /** Checks the tools and servers that a session gives its agent. */
  readonly checkSupport: Agents['checkRuntimeSupport']
}

interface Shared {
  readonly eventTransaction: EventTransaction
  readonly sessionCache: Pick<SessionCache, 'put'>
}

export type Creation = ReturnType<typeof createCreation>

/** Creates sessions, in their own transaction or inside one of the caller. */
export function createCreation(deps: CreationDeps, { eventTransaction, sessionCache }: Shared) {
  const { store, eventLog, queue } = deps

  /** Adds the session with its first messages. */
  async function add(client: PoolClient, plan: SessionPlan, first: First): Promise<void> {
    const { session, metadata, model, budgetUsd, ignored } = plan
    const { id } = session
    await store.insert(client, session)
    if (Object.keys(metadata).length > 0) await store.setMetadata(client, id, metadata)
    await first.begin?.(id)
    if (budgetUsd !== undefined) {
      const limits = { max_usd: String(budgetUsd), ...noLimits }
      await deps.budgets.setLimits(client, { scope: 'session', scope_id: id }, limits)
    }
    const { caller, unpublished } = first
    if (ignored.length > 0) {
      unpublished.push(await eventLog.appendByCaller(client, id, [ignoredWarning(session.runtime, ignored)]))
    }
    for (const message of first.messages)
      await queue.enqueue(client, { id, caller, prompt: { ...message, model } }, unpublished)
  }

  /** Stores the files of a message to a session. Throws `invalid_request` when its runtime takes none. */
  async function prepare(
    { owner_id, runtime }: Receiver,
    parts: readonly SentPart[],
    { principal }: Pick<Caller, 'principal'>,
  ): Promise<PreparedParts> {
    const first = parts.find(part => part.type !== 'text')
    if (first && !(await deps.runtimes.find(runtime))?.capabilities.files_in)
      throw invalid(`${first.file.field}: runtime ${runtime} takes no files (files_in is false); send text only`)
    return deps.promptFiles.prepare(parts, { owner: owner_id, sender: principal })
  }

  return {
    prepare,

    /**
     * Stores the files of the first messages of a session that is created next. Validates the creation body.
     */
    async prepareFirst(
      body: SessionCreate,
      messages: readonly FirstMessage[],
      caller: Caller,
    ): Promise<PreparedMessage[]> {
      const sent = messages.map(message => ('outcome' in message ? message : partsOf(message)))
      const texts = sent.map(message => ('outcome' in message ? undefined : textsOnly(message)))
      if (texts.every(each => each !== undefined)) return texts
      const { session } = await planSession(deps, body, caller)
      const prepared: PreparedMessage[] = []
      for (const message of sent) {
        if ('outcome' in message) {
          const { outcome, place } = message
          await checkOutcomes(deps, { runtime: session.runtime, field: place })
          prepared.push(await outcomeMessage(deps, outcome, { place, sender: caller.principal }))
        } else prepared.push(await prepare(session, message, caller))
      }
      return prepared
    },

    /**
     * Validates a creation body like `create` without storing anything. Returns the runtime that the session would use.
     */
    async check(body: SessionCreate, caller: Caller): Promise<string> {
      return (await planSession(deps, body, caller)).session.runtime
    },

    /**
     * Queues a prompt inside the caller's transaction: for session `existingId` if it still exists, else for a new
     * session. The caller must call `publish` after the commit.
     */
    async startWithin(client: PoolClient, { body, caller, existingId, message, child }: Start): Promise<Started> {
      const agents = deps.agents.within(client)
      const plan = below(child, await planSession({ ...deps, agents }, body, caller))
      const { session, model } = plan
      const unpublished: Appended[] = []
      const before = existingId === undefined ? undefined : await store.find(existingId, caller.ownerScope, client)
      const id = before && !before.deleted_at ? before.id : session.id
      if (id === session.id) await add(client, plan, { caller, unpublished, messages: [] })
      const promptId = await queue.enqueue(
        client,
        { id, caller, prompt: { ...(message ?? textOf(body.prompt)), model } },
        unpublished,
      )
      return { sessionId: id, promptId, publish: () => unpublished.forEach(eventLog.publish) }
    },

    /** Creates a session with its first messages inside the caller's transaction; call `publish` after the commit. */
    async createWithin(client: PoolClient, { body, caller, messages, owner, begin, maxBudgetUsd }: NewWithin) {
      const agents = deps.agents.within(client)
      const plan = limited(ownedBy(owner, await planSession({ ...deps, agents }, body, caller)), maxBudgetUsd)
      const unpublished: Appended[] = []
      await add(client, plan, { caller, unpublished, messages, begin })
      const { id, runtime } = plan.session
      return {
        id,
        runtime,
        model: plan.model,
        ignored: plan.ignored,
        publish: () => unpublished.forEach(eventLog.publish),
      }
    },

    /** Queues messages to a session that the caller has created. */
    async queueMessages(id: string, messages: readonly PreparedMessage[], { caller, model }: Sender): Promise<void> {
      await eventTransaction(async (client, unpublished) => {
        for (const message of messages)
          await queue.enqueue(client, { id, caller, prompt: { ...message, model } }, unpublished)
      })
    },

    /** Creates a session and queues its first prompt in one transaction. A repeated key returns the stored record. */
    async create(
      body: SessionCreate,
      caller: Caller,
      idempotency: Idempotency | undefined,
    ): Promise<{ session: Session; ignored: readonly string[] }> {
      const plan = await planSession(deps, body, caller)
      const { id } = plan.session
      const messages = body.prompt === undefined ? [] : [textOf(body.prompt)]
      const session = await eventTransaction((client, unpublished) =>
        once(sqlOfClient(client), idempotency, async () => {
          await add(client, plan, { caller, unpublished, messages })
          const row = await store.find(id, undefined, client)
          if (!row) throw new Error(`session ${id} is missing right after its creation (bug)`)
          return toSession(row)
        }),
      )
      if (session.id === id) sessionCache.put(id, plan.session)
      return { session, ignored: plan.ignored }
    },
  }
}

interface Sender {
  readonly caller: Caller
  readonly model: string
}

type Receiver = Pick<Session, 'runtime'> & { readonly owner_id: string }

/** A message: as a client sent it, with its path in the request, or its parts. */
type FirstMessage =
  | { readonly content: readonly UserContent[]; readonly place: string }
  | { readonly parts: readonly SentPart[] }
  | { readonly outcome: DefineOutcome; readonly place: string }

const partsOf = (message: Exclude<FirstMessage, { readonly outcome: unknown }>): readonly SentPart[] =>
  'parts' in message ? message.parts : sentParts(message.content, `${message.place}.content`)

/** Returns a message of texts; undefined for one with files. */
function textsOnly(sent: readonly SentPart[]): PreparedParts | undefined {
  const parts = sent.flatMap(part => (part.type === 'text' ? [part] : []))
  return parts.length === sent.length ? { parts } : undefined
}

interface Start {
  readonly body: SessionCreate & { readonly prompt: string }
  readonly caller: Caller
  /** The prompt with its files; by default the text of the body. */
  readonly message?: PreparedParts | undefined
  /** Existing session that gets the prompt; a new session is created when it was deleted. */
  readonly existingId?: string | undefined
  /** Makes the session that of a called agent. */
  readonly child?: ChildSession | undefined
}

/** The session of an agent that another one has called. */
interface ChildSession {
  readonly id: string
  /** The calling session, and those above it. */
  readonly ancestors: readonly string[]
  /** Most that the session may spend; undefined means that only its agent and the sessions above it limit it. */
  readonly maxBudgetUsd: number | undefined
}

interface NewWithin {
  readonly body: SessionCreate
  readonly caller: Caller
  readonly messages: readonly PreparedMessage[]
  /**
   * Owner of the session; must be the agent's owner when it has an agent. Default: the agent's owner, else the caller.
   */
  readonly owner?: string
  /** Writes what must exist before the session's first event. */
  readonly begin?: (id: string) => Promise<void>
  /** Most that the session may spend, besides the limit of its agent. */
  readonly maxBudgetUsd?: number | undefined
}

interface First {
  readonly caller: Caller
  readonly unpublished: Appended[]
  readonly messages: readonly PreparedMessage[]
  readonly begin?: NewWithin['begin']
}

function below(child: ChildSession | undefined, plan: SessionPlan): SessionPlan {
  if (!child) return plan
  const { id, ancestors, maxBudgetUsd } = child
  return limited({ ...plan, session: { ...plan.session, id, ancestors } }, maxBudgetUsd)
}

function limited(plan: SessionPlan, maxBudgetUsd: number | undefined): SessionPlan {
  const limits = [plan.budgetUsd, maxBudgetUsd].filter(limit => limit !== undefined)
  return { ...plan, budgetUsd: limits.length > 0 ? Math.min(...limits) : undefined }
}

function ownedBy(owner: string | undefined, plan: SessionPlan): SessionPlan {
  const { session } = plan
  if (owner === undefined || owner === session.owner_id) return plan
  if (session.agent_id !== '') throw invalid('agent_id must be an agent of the session owner')
  return { ...plan, session: { ...session, owner_id: owner } }
}

const textOf = (text: string): PreparedParts => ({ parts: [{ type: 'text', text }] })

/** A queued prompt. */
export interface Started {
  readonly sessionId: string
  readonly promptId: string
  /** Notifies the readers in this process; other processes are notified with NOTIFY. */
  readonly publish: () => void
}

const noLimits = { soft_usd: null, duration: null, rpm_limit: null, tpm_limit: null, max_parallel: null } as const
