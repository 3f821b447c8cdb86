import type { PoolClient } from 'pg'
import type { SessionCreate } from '../../contract/new-sessions.ts'
import type { PromptPart } from '../../contract/prompts.ts'
import type { Session } from '../../contract/sessions.ts'
import type { AgentStore } from '../agents/store.ts'
import type { BudgetStore } from '../budgets/store.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { invalid } from '../platform/errors.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import { ignoredWarning } from './ignored-warning.ts'
import type { KnownSessions } from './known-sessions.ts'
import type { Appended, EventLog } from './log/event-log.ts'
import { planSession, type SessionPlan } from './new-session.ts'
import type { PromptQueue } from './queue/prompt-queue.ts'
import { toSession } from './session-row.ts'
import type { SessionStore } from './session-store.ts'
import type { Changing } from './told-changes.ts'

export interface CreationDeps {
  readonly store: SessionStore
  readonly eventLog: EventLog
  readonly agents: Pick<AgentStore, 'find' | 'version' | 'within'>
  readonly budgets: Pick<BudgetStore, 'setLimits'>
  readonly runtimes: Pick<RuntimeRegistry, 'find' | 'refusal' | 'findings'>
  readonly queue: PromptQueue
  readonly defaultModel: () => string
}

interface Shared {
  readonly changing: Changing
  readonly known: Pick<KnownSessions, 'keep'>
}

/** How sessions begin: by themselves, or in a transaction of somebody else's. */
export function createCreation(deps: CreationDeps, { changing, known }: Shared) {
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
    const { caller, told } = first
    if (ignored.length > 0) {
      told.push(await eventLog.appendByCaller(client, id, [ignoredWarning(session.runtime, ignored)]))
    }
    for (const parts of first.messages) await queue.enqueue(client, { id, caller, prompt: { parts, model } }, told)
  }

  return {
    /** Checks a creation body as `create` does, and stores nothing. What the session would run on. */
    async check(body: SessionCreate, caller: Caller): Promise<string> {
      return (await planSession(deps, body, caller)).session.runtime
    },

    /**
     * A prompt for the session `goOn`, or for a new one when that is not there, inside a transaction of the caller's, who
     * calls `tell` after the commit.
     */
    async startWithin(client: PoolClient, { body, caller, goOn }: Start): Promise<Started> {
      const agents = deps.agents.within(client)
      const plan = await planSession({ ...deps, agents }, body, caller)
      const { session, model } = plan
      const told: Appended[] = []
      const before = goOn === undefined ? undefined : await store.find(goOn, caller.ownerScope, client)
      const id = before && !before.deleted_at ? before.id : session.id
      if (id === session.id) await add(client, plan, { caller, told, messages: [] })
      const promptId = await queue.enqueue(client, { id, caller, prompt: { parts: textOf(body.prompt), model } }, told)
      return { sessionId: id, promptId, tell: () => told.forEach(eventLog.tell) }
    },

    /** A session with its first messages, inside a transaction of the caller's, who calls `tell` after the commit. */
    async createWithin(client: PoolClient, { body, caller, messages, owner, begin }: NewWithin) {
      const agents = deps.agents.within(client)
      const plan = ownedBy(owner, await planSession({ ...deps, agents }, body, caller))
      const told: Appended[] = []
      await add(client, plan, { caller, told, messages, begin })
      const { id, runtime } = plan.session
      return { id, runtime, ignored: plan.ignored, tell: () => told.forEach(eventLog.tell) }
    },

    /** Creates a session, with its first prompt in the same transaction. A repeat gets the record of the first time. */
    async create(
      body: SessionCreate,
      caller: Caller,
      idempotency: Idempotency | undefined,
    ): Promise<{ session: Session; ignored: readonly string[] }> {
      const plan = await planSession(deps, body, caller)
      const { id } = plan.session
      const messages = body.prompt === undefined ? [] : [textOf(body.prompt)]
      const session = await changing((client, told) =>
        once(sqlOfClient(client), idempotency, async () => {
          await add(client, plan, { caller, told, messages })
          const row = await store.find(id, undefined, client)
          if (!row) throw new Error(`session ${id} is not there right after its creation`)
          return toSession(row)
        }),
      )
      if (session.id === id) known.keep(id, plan.session)
      return { session, ignored: plan.ignored }
    },
  }
}

interface Start {
  readonly body: SessionCreate & { readonly prompt: string }
  readonly caller: Caller
  /** A session that takes the prompt, while it is there. */
  readonly goOn?: string | undefined
}

interface NewWithin {
  readonly body: SessionCreate
  readonly caller: Caller
  readonly messages: readonly (readonly PromptPart[])[]
  /** Whose it is; of an agent of somebody else it cannot be. By default the agent's owner, or the caller. */
  readonly owner?: string
  /** Stores what the session begins with, before its first event. */
  readonly begin?: (id: string) => Promise<void>
}

interface First {
  readonly caller: Caller
  readonly told: Appended[]
  readonly messages: readonly (readonly PromptPart[])[]
  readonly begin?: NewWithin['begin']
}

function ownedBy(owner: string | undefined, plan: SessionPlan): SessionPlan {
  const { session } = plan
  if (owner === undefined || owner === session.owner_id) return plan
  if (session.agent_id !== '') throw invalid('agent_id must be an agent of the owner of the session')
  return { ...plan, session: { ...session, owner_id: owner } }
}

const textOf = (text: string): PromptPart[] => [{ type: 'text', text }]

/** A prompt that was queued. */
export interface Started {
  readonly sessionId: string
  readonly promptId: string
  /** Tells the readers of this process; others hear by NOTIFY. */
  readonly tell: () => void
}

const noLimits = { soft_usd: null, duration: null, rpm_limit: null, tpm_limit: null, max_parallel: null } as const
