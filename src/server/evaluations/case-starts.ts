import type { Pool, PoolClient } from 'pg'
import type { UserContent } from '../../contract/event-routes.ts'
import type { Freezes } from '../controls/freezes.ts'
import { transaction } from '../db/connect.ts'
import type { Caller } from '../http/caller.ts'
import { AppError, DatabaseUnavailable } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { CaseContent, DatasetStore } from './dataset-store.ts'
import type { CallerOf } from './experiment-caller.ts'
import { sessionOf } from './experiments.ts'
import type { NextCase, Room, RunningExperiment, RunStore } from './run-store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: RunStore
  readonly cases: Pick<DatasetStore, 'content'>
  readonly sessions: Pick<Sessions, 'prepareFirst' | 'createWithin'>
  readonly callerOf: CallerOf
  readonly freezes: Pick<Freezes, 'isAny' | 'stopOf'>
  readonly log: Log
}

/** How long an experiment without room, or without a right to spend, starts nothing. */
const waitMs = 1_000

/** Returns a function that starts one case of any experiment; it returns false when none can start now. */
export function createCaseStart({
  pool,
  store,
  cases,
  sessions,
  callerOf,
  freezes,
  log,
}: Deps): () => Promise<boolean> {
  const isFrozen = ({ key }: Caller, { owner_id }: RunningExperiment): boolean =>
    freezes.isAny &&
    freezes.stopOf({ keys: key ? [key.id, ...(key.ancestors ?? [])] : [], owner: owner_id }) !== undefined

  const reject = (next: NextCase, error: Parameters<RunStore['reject']>[2]): Promise<void> =>
    transaction(pool, async client => {
      if (await store.lockNext(client, next)) await store.reject(client, next, error)
    })

  async function start(next: NextCase, content: CaseContent): Promise<void> {
    const { experiment, case_id: id, case_name: name } = next
    const caller = await callerOf(experiment)
    if (isFrozen(caller, experiment)) return store.postpone(pool, experiment.id, waitMs)
    const body = sessionOf(experiment, { id, name })
    const messages = messagesOf(content)
    // Files are stored before the transaction, which must be short.
    const prepared = await sessions.prepareFirst(body, messages, caller)
    const publish = await transaction(pool, async client => {
      const room = await store.lockNext(client, next)
      const budgetUsd = room ? await budgetOf(client, next, room) : 'none'
      if (budgetUsd === 'none') return undefined
      const begun = await sessions.createWithin(client, { body, caller, messages: prepared, maxBudgetUsd: budgetUsd })
      await store.start(client, next, { session_id: begun.id, budget_usd: budgetUsd })
      // Other experiments go first now.
      await store.postpone(client, experiment.id, 0)
      return begun.publish
    })
    publish?.()
  }

  /** Returns the budget of the next session, undefined without one; `none` when it must not start. */
  async function budgetOf(
    client: PoolClient,
    { experiment }: NextCase,
    room: Room,
  ): Promise<number | undefined | 'none'> {
    const { max_parallel, max_budget_usd: total, case_budget_usd: ofCase, open, used_usd } = room
    if (open >= max_parallel) return 'none'
    if (total === null) return ofCase ?? undefined
    const left = total - used_usd
    const wanted = ofCase ?? total / max_parallel
    if (wanted <= left) return wanted
    if (open > 0) await store.postpone(client, experiment.id, waitMs)
    else if (left <= 0)
      await store.rejectAll(client, experiment.id, {
        type: 'budget_reached',
        message: `the experiment has used its budget of ${total} USD`,
      })
    return open > 0 || left <= 0 ? 'none' : left
  }

  return async () => {
    const next = await store.next()
    if (!next) return false
    try {
      const content = await cases.content(next.case_id)
      if (content) await start(next, content)
      else await reject(next, { type: 'case_deleted', message: 'the case was deleted from the dataset' })
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      const message = error instanceof AppError && error.code !== 'internal' ? error.message : undefined
      if (message === undefined) log.error({ err: error, experiment_id: next.experiment.id }, 'could not start a case')
      const shown = message ?? 'could not start the session; the server log has the cause'
      await reject(next, { type: 'not_started', message: shown })
    }
    return true
  }
}

type Message = { readonly content: readonly UserContent[]; readonly place: string }

/** Files belong to the first prompt. */
const messagesOf = ({ prompts, files }: CaseContent): Message[] =>
  prompts.map((text, at) => ({
    content: [{ type: 'text', text }, ...(at === 0 ? files.map(file => ({ type: 'file' as const, ...file })) : [])],
    place: 'files',
  }))
