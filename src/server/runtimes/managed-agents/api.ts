import { isRecord, type Json, jsonOr, nonEmptyText, recordOf, recordsOf, textIn } from '../../platform/json.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { createConnection, type Dialect } from '../remote/connection.ts'
import { isFailureWithStatus, type RuntimeEndpoint, RuntimeFailure, type RuntimeModel } from '../runtime.ts'

/** Source: Dialects, section 1.1. */
const dialect: Dialect = {
  headers: ({ apiKey }) => ({
    ...(apiKey !== undefined && { 'x-api-key': apiKey }),
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'managed-agents-2026-04-01',
  }),
  errorIn: body => {
    const { error } = recordOf(body)
    return isRecord(error)
      ? { code: textIn(error['type']), message: textIn(error['message']) }
      : { message: textIn(error) }
  },
}

const pageSize = 200
/** Limits for servers whose lists do not end. */
const maxPages = 2_000
const maxModelPages = 20
/** Timeout for sending events; an unknown outcome is checked in the list afterwards. */
const sendMs = 30_000

/** Calls of the protocol. All reject with `RuntimeFailure`, or with the reason of their signal. */
export type ManagedAgentsApi = ReturnType<typeof managedAgentsApi>

/** Creates a client for one server, which connects on the first call. The caller must close it. */
export function managedAgentsApi(outbound: Pick<Outbound, 'connect'>, endpoint: RuntimeEndpoint) {
  const connection = createConnection(outbound, endpoint, dialect)
  const eventsOf = (sessionId: string) => `/v1/sessions/${encodeURIComponent(sessionId)}/events`

  return {
    /** Creates an object and returns its id. */
    async create(what: 'agents' | 'environments' | 'sessions', body: Json, signal: AbortSignal): Promise<string> {
      const made = await connection.json({ method: 'POST', path: `/v1/${what}`, body, signal })
      const id = nonEmptyText(recordOf(made)['id'])
      if (id === undefined)
        throw new RuntimeFailure(
          'model_request_failed_error',
          `the runtime returned no id for the created object (${what})`,
        )
      return id
    },

    /**
     * Sends user events and returns the stored ones. Takes no signal: the outcome of an aborted call would be unknown.
     */
    async send(sessionId: string, events: readonly Json[]): Promise<readonly Json[]> {
      const call = { method: 'POST', path: eventsOf(sessionId), body: { events }, timeoutMs: sendMs } as const
      return dataOf(await connection.json(call).catch(rethrow))
    },

    /**
     * Yields the stored events in order, page by page. Servers that support `since` leave out events processed before
     * it.
     */
    async *list(sessionId: string, since: string | undefined, signal: AbortSignal): AsyncGenerator<readonly Json[]> {
      const query = { limit: String(pageSize), ...(since !== undefined && { 'created_at[gte]': since }) }
      let page: string | undefined
      for (let pages = 0; pages < maxPages; pages++) {
        const parameters = new URLSearchParams({ ...query, ...(page !== undefined && { page }) })
        const path = `${eventsOf(sessionId)}?${parameters}`
        const answer = await connection.json({ method: 'GET', path, signal }).catch(rethrow)
        yield dataOf(answer)
        const next = nonEmptyText(recordOf(answer)['next_page'])
        if (next === undefined || next === page) return
        page = next
      }
      throw new RuntimeFailure('model_request_failed_error', `the event list of the runtime exceeds ${maxPages} pages`)
    },

    /** Yields the frames of the session's stream; rejects for a frame that is not a JSON object. */
    async *stream(sessionId: string, onOpen: () => void, signal: AbortSignal): AsyncGenerator<Json> {
      const path = `${eventsOf(sessionId)}/stream?event_deltas%5B%5D=agent.message`
      try {
        for await (const { data, event } of connection.events({ path, signal, onOpen })) yield frameOf(data, event)
      } catch (error) {
        rethrow(error)
      }
    },

    /** Deletes a session or environment; succeeds if it does not exist. */
    async remove(what: 'environments' | 'sessions', id: string): Promise<void> {
      await connection.json({ method: 'DELETE', path: `/v1/${what}/${encodeURIComponent(id)}` }).catch(unlessAbsent)
    },

    /** Archives an agent; succeeds if it does not exist. */
    async archiveAgent(id: string): Promise<void> {
      const path = `/v1/agents/${encodeURIComponent(id)}/archive`
      await connection.json({ method: 'POST', path, body: {} }).catch(unlessAbsent)
    },

    /** Requests one model: the cheapest call that needs the credential. */
    async probe(signal: AbortSignal): Promise<void> {
      await connection.json({ method: 'GET', path: '/v1/models?limit=1', signal })
    },

    async models(signal: AbortSignal): Promise<readonly RuntimeModel[]> {
      const found: RuntimeModel[] = []
      let after: string | undefined
      for (let pages = 0; pages < maxModelPages; pages++) {
        const query = new URLSearchParams({ limit: '1000', ...(after !== undefined && { after_id: after }) })
        const answer = await connection.json({ method: 'GET', path: `/v1/models?${query}`, signal })
        found.push(...dataOf(answer).flatMap(modelOf))
        const { has_more, last_id } = recordOf(answer)
        if (has_more !== true || typeof last_id !== 'string' || last_id === after) break
        after = last_id
      }
      return found
    },

    close: () => connection.close(),
  }
}

/** Some servers return the bare array. */
const dataOf = (answer: unknown): readonly Json[] => recordsOf(isRecord(answer) ? answer['data'] : answer)

function modelOf(model: Json): readonly RuntimeModel[] {
  const id = nonEmptyText(model['id'])
  return id === undefined ? [] : [{ id, display_name: nonEmptyText(model['display_name']) ?? id }]
}

/** Parses an event; takes the type from its `event:` line if the JSON has none. */
function frameOf(data: string, event: string | undefined): Json {
  const value = jsonOr(data, undefined)
  if (!isRecord(value))
    throw new RuntimeFailure(
      'model_request_failed_error',
      'the stream of the runtime contains a frame that is not a JSON object',
    )
  const frame = typeof value['type'] === 'string' ? value : { ...value, type: event ?? '' }
  if (frame['type'] !== 'error') return frame
  const message = textIn(recordOf(frame['error'])['message']) ?? ''
  throw new RuntimeFailure(
    'model_request_failed_error',
    `the stream of the runtime was interrupted${message && `: ${message}`}`,
  )
}

function unlessAbsent(error: unknown): void {
  if (!isFailureWithStatus(error, 404)) throw error
}

/** Rethrows an error; a 404 below a session's path means that the session was deleted. */
function rethrow(error: unknown): never {
  if (isFailureWithStatus(error, 404))
    throw new RuntimeFailure(
      'model_request_failed_error',
      'the session was deleted at the runtime; continue in a new session',
      {
        status: 404,
        cause: error,
      },
    )
  throw error
}
