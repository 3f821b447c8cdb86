import { randomUUID } from 'node:crypto'
import { isRecord, type Json, jsonOr, nonEmptyText, recordOf, recordsOf, textIn, textOf } from '../../platform/json.ts'
import type { Connection, Dialect } from '../remote/connection.ts'
import { isRefusal, RuntimeFailure, type RuntimeModel } from '../runtime.ts'

/** A branch that an agent has pushed. */
export interface Branch {
  readonly repoUrl?: string
  readonly branch?: string
  readonly prUrl?: string
}

/** One prompt at work, as Cursor tells it. */
export interface CursorRun {
  readonly id: string
  /** In capitals, such as `RUNNING`. */
  readonly status: string
  readonly createdAt: string
  /** What it said last; only once it is over, and never in a list. */
  readonly text: string | undefined
  readonly branches: readonly Branch[]
  readonly error: NativeError | undefined
}

export interface NativeError {
  readonly code: string | undefined
  readonly message: string | undefined
}

/** One frame of a run's stream. */
export interface NativeEvent {
  readonly name: string
  /** Opaque; undefined on frames that are sent again with each connection. */
  readonly id: string | undefined
  readonly data: Json
}

/** How Cursor wants its key, and how it says no. */
export const cursorDialect: Dialect = {
  headers: ({ apiKey }) => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  refusalIn: body => errorIn(recordOf(body)['error'] ?? body),
}

/** An id for an agent that is to be made: a repeated call with it makes no second one. */
export const newAgentId = (): string => `bc-${randomUUID()}`

export type CursorApi = ReturnType<typeof cursorApi>

interface Place {
  readonly agentId: string
  readonly runId: string
}

const agentPath = (agentId: string): string => `/v1/agents/${encodeURIComponent(agentId)}`
const runPath = ({ agentId, runId }: Place): string => `${agentPath(agentId)}/runs/${encodeURIComponent(runId)}`

/** A person waits for an interrupt to end the run here; at Cursor it ends when it can. */
const cancelMs = 2_000

/** Version 1 of Cursor's cloud agents API. Dialects: section 3.1. */
export function cursorApi({ json, events }: Pick<Connection, 'json' | 'events'>) {
  const runs = async (agentId: string, signal: AbortSignal): Promise<CursorRun[]> => {
    const page = recordOf(await json({ method: 'GET', path: `${agentPath(agentId)}/runs?limit=100`, signal }))
    return recordsOf(page['items']).flatMap(item => (nonEmptyText(item['id']) === undefined ? [] : [runFrom(item)]))
  }

  return {
    /** Makes the agent that `body` names, with its first run. */
    async createAgent(body: Json, signal: AbortSignal): Promise<string> {
      return runIn(await json({ method: 'POST', path: '/v1/agents', body, signal }))
    },

    /** Id of the agent's newest run; undefined when it has none. Rejects with status 404 when there is no such agent. */
    async latestRun(agentId: string, signal: AbortSignal): Promise<string | undefined> {
      const agent = recordOf(await json({ method: 'GET', path: agentPath(agentId), signal }))
      return nonEmptyText(agent['latestRunId']) ?? newestFirst(await runs(agentId, signal))[0]?.id
    },

    /** Runs of the agent that are newer than `before`, newest first; all of them when that one is not there. */
    async runsAfter(agentId: string, before: string, signal: AbortSignal): Promise<readonly CursorRun[]> {
      const all = newestFirst(await runs(agentId, signal))
      const at = all.findIndex(({ id }) => id === before)
      return at < 0 ? all : all.slice(0, at)
    },

    /** Begins the next run; `key` names the prompt, so that a repeat can be told from a second one. */
    async createRun(
      agentId: string,
      body: Json,
      { key, signal }: { key: string; signal: AbortSignal },
    ): Promise<string> {
      const headers = { 'idempotency-key': key }
      return runIn(await json({ method: 'POST', path: `${agentPath(agentId)}/runs`, body, headers, signal }))
    },

    async run(place: Place, signal: AbortSignal): Promise<CursorRun> {
      const run = await json({ method: 'GET', path: runPath(place), signal })
      if (!isRecord(run) || nonEmptyText(run['status']) === undefined) throw noRun()
      return runFrom({ id: place.runId, ...run })
    },

    /** Succeeds also when the run is over, or gone. */
    async cancel(place: Place): Promise<void> {
      const cancelled = json({ method: 'POST', path: `${runPath(place)}/cancel`, timeoutMs: cancelMs })
      await cancelled.catch((error: unknown) => {
        if (!isRefusal(error, 404) && !isRefusal(error, 409)) throw error
      })
    },

    /** Succeeds also when there is no such agent. */
    async deleteAgent(agentId: string): Promise<void> {
      await json({ method: 'DELETE', path: agentPath(agentId) }).catch((error: unknown) => {
        if (!isRefusal(error, 404)) throw error
      })
    },

    /** What the run says, from its beginning or behind the event `after`. */
    async *events(place: Place, { after, signal }: { after: string | undefined; signal: AbortSignal }) {
      const headers = after === undefined ? {} : { 'last-event-id': after }
      for await (const { event, id, data } of events({ path: `${runPath(place)}/stream`, headers, signal })) {
        const payload = jsonOr(data, undefined)
        if (payload === undefined)
          throw new RuntimeFailure('model_request_failed_error', 'the stream of Cursor is not JSON')
        yield { name: event ?? 'message', id: nonEmptyText(id), data: recordOf(payload) } satisfies NativeEvent
      }
    },

    /** Proves the key. */
    async me(signal: AbortSignal): Promise<void> {
      const me = await json({ method: 'GET', path: '/v1/me', signal })
      if (!isRecord(me))
        throw new RuntimeFailure('model_request_failed_error', 'the address answers, but not as Cursor does')
    },

    async models(signal: AbortSignal): Promise<readonly (RuntimeModel & { readonly aliases: readonly unknown[] })[]> {
      const { items } = recordOf(await json({ method: 'GET', path: '/v1/models', signal }))
      return recordsOf(items).flatMap(({ id, displayName, aliases }) =>
        typeof id !== 'string' || id === ''
          ? []
          : [{ id, display_name: nonEmptyText(displayName) ?? id, aliases: Array.isArray(aliases) ? aliases : [] }],
      )
    },
  }
}

const noRun = (): RuntimeFailure =>
  new RuntimeFailure('model_request_failed_error', 'the runtime answered without a run')

function runIn(answer: unknown): string {
  const id = nonEmptyText(recordOf(recordOf(answer)['run'])['id'])
  if (id === undefined) throw noRun()
  return id
}

const runFrom = (run: Json): CursorRun => ({
  id: textOf(run['id']),
  status: textOf(run['status']).toUpperCase(),
  createdAt: textOf(run['createdAt']),
  text: textIn(run['result']),
  branches: branchesIn(run['git']),
  error: run['error'] === undefined ? undefined : errorIn(run['error']),
})

const newestFirst = (runs: readonly CursorRun[]): CursorRun[] =>
  runs.toSorted((one, other) => (Date.parse(other.createdAt) || 0) - (Date.parse(one.createdAt) || 0))

/** The branches of a `git` field, with what is text in them. */
export const branchesIn = (git: unknown): Branch[] =>
  recordsOf(recordOf(git)['branches']).map(branch =>
    Object.fromEntries(
      ['repoUrl', 'branch', 'prUrl'].flatMap(name => {
        const value = nonEmptyText(branch[name])
        return value === undefined ? [] : [[name, value]]
      }),
    ),
  )

/** What an error says, whether it is an object or plain text. */
export function errorIn(error: unknown): NativeError {
  if (!isRecord(error)) return { code: undefined, message: nonEmptyText(error) }
  return { code: nonEmptyText(error['code']), message: nonEmptyText(error['message']) }
}
