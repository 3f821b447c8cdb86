import { isRecord, type Json, jsonOr, nonEmptyText, recordOf, recordsOf, textIn } from '../../platform/json.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { createConnection, type Dialect } from '../remote/connection.ts'
import { isRefusal, type RuntimeEndpoint, RuntimeFailure, type RuntimeModel } from '../runtime.ts'

/** Source: Dialects, section 1.1. */
const dialect: Dialect = {
  headers: ({ apiKey }) => ({
    ...(apiKey !== undefined && { 'x-api-key': apiKey }),
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'managed-agents-2026-04-01',
  }),
  refusalIn: body => {
    const { error } = recordOf(body)
    return isRecord(error)
      ? { code: textIn(error['type']), message: textIn(error['message']) }
      : { message: textIn(error) }
  },
}

const pageSize = 200
/** A server whose pages never end is given up. */
const maxPages = 2_000
const maxModelPages = 20
/** What is sent is small, and its outcome is asked for again when it is not known. */
const sendMs = 30_000

/** The calls of the protocol that a run needs. All reject with `RuntimeFailure`, or with the reason of their signal. */
export type ManagedAgentsApi = ReturnType<typeof managedAgentsApi>

/** Opens the way to one server of the protocol; it connects when it is first used. Close it. */
export function managedAgentsApi(outbound: Pick<Outbound, 'connect'>, endpoint: RuntimeEndpoint) {
  const connection = createConnection(outbound, endpoint, dialect)
  const eventsOf = (sessionId: string) => `/v1/sessions/${encodeURIComponent(sessionId)}/events`

  return {
    /** Makes one; its id. */
    async create(what: 'agents' | 'environments' | 'sessions', body: Json, signal: AbortSignal): Promise<string> {
      const made = await connection.json({ method: 'POST', path: `/v1/${what}`, body, signal })
      const id = nonEmptyText(recordOf(made)['id'])
      if (id === undefined)
        throw new RuntimeFailure('model_request_failed_error', `the runtime made one of its ${what} without an id`)
      return id
    },

    /** Sends events of the user; what the server says it has stored. No signal: a cut call leaves its outcome open. */
    async send(sessionId: string, events: readonly Json[]): Promise<readonly Json[]> {
      const call = { method: 'POST', path: eventsOf(sessionId), body: { events }, timeoutMs: sendMs } as const
      return dataOf(await connection.json(call).catch(asGone))
    },

    /** Stored events in their order, page by page; with `since` those processed then or later, where the server can. */
    async *list(sessionId: string, since: string | undefined, signal: AbortSignal): AsyncGenerator<readonly Json[]> {
      const query = { limit: String(pageSize), ...(since !== undefined && { 'created_at[gte]': since }) }
      let page: string | undefined
      for (let pages = 0; pages < maxPages; pages++) {
        const asked = new URLSearchParams({ ...query, ...(page !== undefined && { page }) })
        const path = `${eventsOf(sessionId)}?${asked}`
        const answer = await connection.json({ method: 'GET', path, signal }).catch(asGone)
        yield dataOf(answer)
        const next = nonEmptyText(recordOf(answer)['next_page'])
        if (next === undefined || next === page) return
        page = next
      }
      throw new RuntimeFailure('model_request_failed_error', 'the list of events at the runtime does not end')
    },

    /** The frames of the session's stream; text that is no JSON object rejects. */
    async *stream(sessionId: string, onOpen: () => void, signal: AbortSignal): AsyncGenerator<Json> {
      const path = `${eventsOf(sessionId)}/stream?event_deltas%5B%5D=agent.message`
      try {
        for await (const { data, event } of connection.events({ path, signal, onOpen })) yield frameOf(data, event)
      } catch (error) {
        asGone(error)
      }
    },

    /** Deletes a session or environment; one that is not there is fine. */
    async remove(what: 'environments' | 'sessions', id: string): Promise<void> {
      await connection.json({ method: 'DELETE', path: `/v1/${what}/${encodeURIComponent(id)}` }).catch(unlessAbsent)
    },

    /** Archives an agent; one that is not there is fine. */
    async archiveAgent(id: string): Promise<void> {
      const path = `/v1/agents/${encodeURIComponent(id)}/archive`
      await connection.json({ method: 'POST', path, body: {} }).catch(unlessAbsent)
    },

    /** One look at the models: the cheapest call that needs the credential. */
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

/** Some servers answer with the bare array. */
const dataOf = (answer: unknown): readonly Json[] => recordsOf(isRecord(answer) ? answer['data'] : answer)

function modelOf(model: Json): readonly RuntimeModel[] {
  const id = nonEmptyText(model['id'])
  return id === undefined ? [] : [{ id, display_name: nonEmptyText(model['display_name']) ?? id }]
}

/** An event, with the type of its `event:` line where its JSON has none. */
function frameOf(data: string, event: string | undefined): Json {
  const value = jsonOr(data, undefined)
  if (!isRecord(value))
    throw new RuntimeFailure('model_request_failed_error', 'the stream of the runtime is not made of events')
  const frame = typeof value['type'] === 'string' ? value : { ...value, type: event ?? '' }
  if (frame['type'] !== 'error') return frame
  const message = textIn(recordOf(frame['error'])['message']) ?? ''
  throw new RuntimeFailure(
    'model_request_failed_error',
    `the stream of the runtime broke off${message && `: ${message}`}`,
  )
}

function unlessAbsent(error: unknown): void {
  if (!isRefusal(error, 404)) throw error
}

/** Below a session's path, what is not there is the session. */
function asGone(error: unknown): never {
  if (isRefusal(error, 404))
    throw new RuntimeFailure(
      'model_request_failed_error',
      'the session is gone at the runtime; go on in a new session',
      {
        status: 404,
        cause: error,
      },
    )
  throw error
}
