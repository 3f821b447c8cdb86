import type { SseFrame } from '../../../contract/sse.ts'
import { basicAuthorization } from '../../platform/authorization.ts'
import { type Json, listOf, nonEmptyText, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import type { Connection, Dialect } from '../remote/connection.ts'
import { RuntimeFailure, type RuntimeModel } from '../runtime.ts'
import type { SessionRule } from './session-rules.ts'

/** Headers and errors of opencode: Basic authentication, and error bodies of two shapes. Dialects: section 2.2. */
export const opencodeDialect: Dialect = {
  headers: ({ apiKey }) => (apiKey ? { authorization: basicAuthorization(`opencode:${apiKey}`) } : {}),
  errorIn(body) {
    const { name, _tag, data, message } = recordOf(body)
    return {
      code: nonEmptyText(name) ?? nonEmptyText(_tag),
      message: nonEmptyText(recordOf(data)['message'] ?? message),
    }
  },
}

/** A message of a session's list with its parts. */
export interface ListedMessage {
  readonly info: Json
  readonly parts: readonly Json[]
}

type PromptBodyPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly mime: string; readonly filename: string; readonly url: string }

/** Body of a prompt. It has no id: opencode orders messages by the ids that it generates. */
export interface PromptBody {
  readonly model?: { readonly providerID: string; readonly modelID: string }
  readonly system?: string
  readonly parts: readonly PromptBodyPart[]
}

/** A permission request of opencode. */
export interface PermissionRequest {
  readonly id: string
  readonly sessionId: string
  /** Absent when the request does not belong to a tool call. */
  readonly callId: string | undefined
  /** Kind of the permission: `edit`, `bash`, `external_directory`. */
  readonly permission: string
  readonly input: Json
  /** True for a request of an older server, which takes replies on another path. */
  readonly isOlder: boolean
}

export type PermissionReply = 'once' | 'reject'

/** Client of an opencode server. Dialects: sections 2.2 and 2.3. */
export type OpencodeApi = ReturnType<typeof opencodeApi>

/** For calls that need no model. */
const quick = { timeoutMs: 30_000 }

export function opencodeApi(connection: Connection) {
  const { json } = connection
  const at = (sessionId: string, rest = '') => `/session/${encodeURIComponent(sessionId)}${rest}`

  return {
    async checkHealth(signal: AbortSignal): Promise<void> {
      const answer = await json({ method: 'GET', path: '/global/health', signal, timeoutMs: 10_000 })
      if (recordOf(answer)['healthy'] !== true)
        throw new RuntimeFailure('model_request_failed_error', 'the server is not an opencode server')
    },

    async models(signal: AbortSignal): Promise<RuntimeModel[]> {
      const answer = await json({ method: 'GET', path: '/config/providers', signal, ...quick })
      return recordsOf(recordOf(answer)['providers']).flatMap(modelsOf)
    },

    /** Creates a session and returns its id. */
    async createSession(title: string, rules: readonly SessionRule[], signal: AbortSignal): Promise<string> {
      const body = { title, ...(rules.length > 0 && { permission: rules }) }
      const answer = await json({ method: 'POST', path: '/session', body, signal, ...quick })
      const id = nonEmptyText(recordOf(answer)['id'])
      if (id === undefined)
        throw new RuntimeFailure('model_request_failed_error', 'the runtime returned no id for the created session')
      return id
    },

    async removeSession(sessionId: string, signal: AbortSignal): Promise<void> {
      await json({ method: 'DELETE', path: at(sessionId), signal, ...quick })
    },

    /** Resolves once the server has accepted the prompt, before it works on it. */
    async sendPrompt(sessionId: string, body: PromptBody, signal: AbortSignal): Promise<void> {
      await json({ method: 'POST', path: at(sessionId, '/prompt_async'), body, signal, ...quick })
    },

    async abort(sessionId: string, signal: AbortSignal): Promise<void> {
      await json({ method: 'POST', path: at(sessionId, '/abort'), signal, timeoutMs: 10_000 })
    },

    /** Reports whether the session is busy; sessions that are not listed are idle. */
    async isBusy(sessionId: string, signal: AbortSignal): Promise<boolean> {
      const statuses = recordOf(await json({ method: 'GET', path: '/session/status', signal, ...quick }))
      const type = textOf(recordOf(statuses[sessionId])['type'])
      return type !== '' && type !== 'idle'
    },

    /** Returns the last `limit` messages of a session, oldest first; all by default. */
    async messages(sessionId: string, signal: AbortSignal, limit?: number): Promise<ListedMessage[]> {
      const query = limit === undefined ? '' : `?limit=${limit}`
      const answer = await json({ method: 'GET', path: at(sessionId, `/message${query}`), signal })
      if (!Array.isArray(answer))
        throw new RuntimeFailure('model_request_failed_error', 'the runtime did not return a list of messages')
      return recordsOf(answer).map(({ info, parts }) => ({ info: recordOf(info), parts: recordsOf(parts) }))
    },

    /** Returns the ids of child sessions, such as those of subagents. */
    async children(sessionId: string, signal: AbortSignal): Promise<string[]> {
      const answer = await json({ method: 'GET', path: at(sessionId, '/children'), signal, ...quick })
      return recordsOf(answer).flatMap(({ id }) => nonEmptyText(id) ?? [])
    },

    /** Returns the open permission requests of all sessions. */
    async permissions(signal: AbortSignal): Promise<PermissionRequest[]> {
      const answer = await json({ method: 'GET', path: '/permission', signal, ...quick })
      return recordsOf(answer).flatMap(request => permissionOf(request) ?? [])
    },

    async replyPermission(
      { id, sessionId, isOlder }: Pick<PermissionRequest, 'id' | 'sessionId' | 'isOlder'>,
      { reply, message }: { readonly reply: PermissionReply; readonly message: string | undefined },
      signal: AbortSignal,
    ): Promise<void> {
      const named = encodeURIComponent(id)
      const newer = { path: `/permission/${named}/reply`, body: { reply, ...(message !== undefined && { message }) } }
      const older = { path: at(sessionId, `/permissions/${named}`), body: { response: reply } }
      await json({ method: 'POST', ...(isOlder ? older : newer), signal, ...quick })
    },

    /** Returns the open questions to the user, of all sessions. */
    async questions(signal: AbortSignal): Promise<{ readonly id: string; readonly sessionId: string }[]> {
      const answer = await json({ method: 'GET', path: '/question', signal, ...quick })
      return recordsOf(answer).map(({ id, sessionID }) => ({ id: textOf(id), sessionId: textOf(sessionID) }))
    },

    async rejectQuestion(id: string, signal: AbortSignal): Promise<void> {
      await json({ method: 'POST', path: `/question/${encodeURIComponent(id)}/reject`, signal, ...quick })
    },

    /** Streams all events of the server from now on. A heartbeat arrives every ten seconds. */
    events: (signal: AbortSignal): AsyncGenerator<SseFrame> =>
      connection.events({ path: '/event', signal, silenceMs: 45_000 }),
  }
}

const modelsOf = (provider: Json): RuntimeModel[] =>
  recordsOf(Object.values(recordOf(provider['models']))).map(({ id, name }) => ({
    id: `${textOf(provider['id'])}/${textOf(id)}`,
    display_name: nonEmptyText(name) ?? textOf(id),
  }))

/** Reads a permission request in either of its shapes; returns undefined without an id. */
export function permissionOf(request: Json): PermissionRequest | undefined {
  const id = nonEmptyText(request['id'])
  if (id === undefined) return undefined
  const isOlder = request['permission'] === undefined
  const { callID } = isOlder ? request : recordOf(request['tool'])
  const patterns = isOlder ? request['pattern'] : request['patterns']
  return {
    id,
    sessionId: textOf(request['sessionID']),
    callId: nonEmptyText(callID),
    permission: nonEmptyText(request[isOlder ? 'type' : 'permission']) ?? 'permission',
    input: {
      patterns: listOf(typeof patterns === 'string' ? [patterns] : patterns),
      ...(nonEmptyText(request['title']) && { title: request['title'] }),
      metadata: recordOf(request['metadata']),
    },
    isOlder,
  }
}
