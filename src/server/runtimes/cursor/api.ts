import { randomUUID } from 'node:crypto'
import { isRecord, type Json, jsonOr, nonEmptyText, recordOf, recordsOf, textIn, textOf } from '../../platform/json.ts'
import type { Connection, Dialect } from '../remote/connection.ts'
import { isFailureWithStatus, RuntimeFailure, type RuntimeModel } from '../runtime.ts'

/** A branch that an agent pushed. */
export interface Branch {
  readonly repoUrl?: string
  readonly branch?: string
  readonly prUrl?: string
}

/** A run at Cursor, which processes one prompt. */
export interface CursorRun {
  readonly id: string
  /** In upper case, such as `RUNNING`. */
  readonly status: string
  readonly createdAt: string
  /** Its last text; only once it is over, and never in a list. */
  readonly text: string | undefined
  readonly branches: readonly Branch[]
  readonly error: NativeError | undefined
}

export interface NativeError {
  readonly code: string | undefined
  readonly message: string | undefined
}

/** A frame of a run's stream. */
export interface NativeEvent {
  readonly name: string
  /** Opaque; undefined for frames that are repeated on each connection. */
  readonly id: string | undefined
  readonly data: Json
}

/** Authorization and error format of Cursor. */
export const cursorDialect: Dialect = {
  headers: ({ apiKey }) => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  errorIn: body => errorIn(recordOf(body)['error'] ?? body),
}

/** Returns an id for a new agent, so that a repeated request does not create a second one. */
export const newAgentId = (): string => `bc-${randomUUID()}`

export type CursorApi = ReturnType<typeof cursorApi>

interface Place {
  readonly agentId: string
  readonly runId: string
}

const agentPath = (agentId: string): string => `/v1/agents/${encodeURIComponent(agentId)}`
const runPath = ({ agentId, runId }: Place): string => `${agentPath(agentId)}/runs/${encodeURIComponent(runId)}`

/** Timeout of a cancellation, since a person waits for the interrupt; the run may end at Cursor later. */
const cancelMs = 2_000

/** Client of version 1 of Cursor's cloud agents API. Dialects: section 3.1. */
export function cursorApi({ json, events }: Pick<Connection, 'json' | 'events'>) {
  const runs = async (agentId: string, signal: AbortSignal): Promise<CursorRun[]> => {
    const page = recordOf(await json({ method: 'GET', path: `${agentPath(agentId)}/runs?limit=100`, signal }))
    return recordsOf(page['items']).flatMap(item => (nonEmptyText(item['id']) === undefined ? [] : [runFrom(item)]))
  }

  return {
    /** Creates the agent in `body` with its first run, and returns the id of the run. */
    async createAgent(body: Json, signal: AbortSignal): Promise<string> {
      return runIn(await json({ method: 'POST', path: '/v1/agents', body, signal }))
    },

    /**
     * Returns the id of the agent's newest run; undefined when it has none. Rejects with status 404 for an unknown
     * agent.
     */
    async latestRun(agentId: string, signal: AbortSignal): Promise<string | undefined> {
      const agent = recordOf(await json({ method: 'GET', path: agentPath(agentId), signal }))
      return nonEmptyText(agent['latestRunId']) ?? newestFirst(await runs(agentId, signal))[0]?.id
    },

    /**
     * Returns the agent's runs that are newer than `before`, newest first; all runs when `before` is not among them.
     */
    async runsAfter(agentId: string, before: string, signal: AbortSignal): Promise<readonly CursorRun[]> {
      const all = newestFirst(await runs(agentId, signal))
      const at = all.findIndex(({ id }) => id === before)
      return at < 0 ? all : all.slice(0, at)
    },

    /** Creates the next run. `key` is the idempotency key. */
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

    /** Cancels a run; succeeds also when it is over or deleted. */
    async cancel(place: Place): Promise<void> {
      const cancelled = json({ method: 'POST', path: `${runPath(place)}/cancel`, timeoutMs: cancelMs })
      await cancelled.catch((error: unknown) => {
        if (!isFailureWithStatus(error, 404) && !isFailureWithStatus(error, 409)) throw error
      })
    },

    /** Deletes an agent; succeeds also when it does not exist. */
    async deleteAgent(agentId: string): Promise<void> {
      await json({ method: 'DELETE', path: agentPath(agentId) }).catch((error: unknown) => {
        if (!isFailureWithStatus(error, 404)) throw error
      })
    },

    /** Streams the events of a run, from its start or after the event `after`. */
    async *events(place: Place, { after, signal }: { after: string | undefined; signal: AbortSignal }) {
      const headers = after === undefined ? {} : { 'last-event-id': after }
      for await (const { event, id, data } of events({ path: `${runPath(place)}/stream`, headers, signal })) {
        const payload = jsonOr(data, undefined)
        if (payload === undefined)
          throw new RuntimeFailure(
            'model_request_failed_error',
            'the stream of Cursor contains a frame that is not JSON',
          )
        yield { name: event ?? 'message', id: nonEmptyText(id), data: recordOf(payload) } satisfies NativeEvent
      }
    },

    /** Verifies the key. */
    async me(signal: AbortSignal): Promise<void> {
      const me = await json({ method: 'GET', path: '/v1/me', signal })
      if (!isRecord(me))
        throw new RuntimeFailure('model_request_failed_error', 'the server at api_base is not the Cursor API')
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
  new RuntimeFailure('model_request_failed_error', 'the response of Cursor has no run')

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

/** Returns the branches of a `git` field, with their text fields. */
export const branchesIn = (git: unknown): Branch[] =>
  recordsOf(recordOf(git)['branches']).map(branch =>
    Object.fromEntries(
      ['repoUrl', 'branch', 'prUrl'].flatMap(name => {
        const value = nonEmptyText(branch[name])
        return value === undefined ? [] : [[name, value]]
      }),
    ),
  )

/** Returns code and message of an error, which may be an object or plain text. */
export function errorIn(error: unknown): NativeError {
  if (!isRecord(error)) return { code: undefined, message: nonEmptyText(error) }
  return { code: nonEmptyText(error['code']), message: nonEmptyText(error['message']) }
}
