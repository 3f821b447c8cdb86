import type { WebhookReply } from '../../contract/webhook-replies.ts'
import { listOf, recordOf, textIn } from '../platform/json.ts'
import { isWebhookSecret, signatureHeaders } from '../platform/webhook-signature.ts'
import type { Exchange, Exchanged } from './exchange.ts'
import { callbackType, commentMark, type ReplyTarget } from './reply-target.ts'

/** What a receiver gets. */
export interface Post {
  readonly id: string
  /** When it was queued: it is not at the receiver before. */
  readonly queued: Date
  readonly target: ReplyTarget
  readonly secret: string
  readonly kind: WebhookReply['kind']
  readonly text: string
  /** Besides the text, for programs. */
  readonly data: Readonly<Record<string, unknown>>
}

/** Result of one call. `isFinal`: another attempt cannot succeed. */
export interface Posted {
  readonly isPosted: boolean
  readonly isFinal: boolean
  readonly httpStatus: number | null
  readonly error: string | null
  readonly externalId: string | null
}

interface Receiver {
  /** Posts the reply. */
  readonly post: (exchange: Exchange, post: Post) => Promise<Posted>
  /** Looks for the reply at the receiver, after an attempt without a known outcome. Absent where receivers deduplicate. */
  readonly find?: (exchange: Exchange, post: Post) => Promise<Posted>
}

const maxCommentLength = 60_000
const maxMessageLength = 35_000
const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max)}\n\n(truncated)` : text)
const markOf = (id: string): string => `${commentMark}${id} -->`
const json = { 'content-type': 'application/json', 'user-agent': 'switchyard' }

/** 403 and 429 are also GitHub's rate limits. */
const isRetryable = (status: number | null): boolean =>
  status === null || status >= 500 || [403, 408, 425, 429].includes(status)

const notPosted = ({ status, problem }: Exchanged): Posted => ({
  isPosted: false,
  isFinal: !isRetryable(status),
  httpStatus: status,
  error: problem ?? `receiver returned status ${status}`,
  externalId: null,
})
const posted = (httpStatus: number | null, externalId: string | null): Posted => ({
  isPosted: true,
  isFinal: true,
  httpStatus,
  error: null,
  externalId,
})
const isOk = ({ status }: Exchanged): boolean => status !== null && status >= 200 && status < 300

/** Source: GitHub REST API, Create an issue comment; pull requests are issues. */
const github: Receiver = {
  async post(exchange, { id, target, secret, text }) {
    const body = JSON.stringify({ body: `${cut(text, maxCommentLength)}\n\n${markOf(id)}` })
    const answer = await exchange({ method: 'POST', url: commentsOf(target), headers: githubHeaders(secret), body })
    return isOk(answer) ? posted(answer.status, idOf(recordOf(answer.body)['id'])) : notPosted(answer)
  },
  async find(exchange, { id, target, secret, queued }) {
    const url = `${commentsOf(target)}?per_page=100&since=${queued.toISOString()}`
    const answer = await exchange({ method: 'GET', url, headers: githubHeaders(secret) })
    if (!isOk(answer)) return notPosted(answer)
    const own = listOf(answer.body).find(each => textIn(recordOf(each)['body'])?.includes(markOf(id)))
    return own ? posted(answer.status, idOf(recordOf(own)['id'])) : notFound(answer)
  },
}

const notFound = ({ status }: Exchanged): Posted => ({
  isPosted: false,
  isFinal: false,
  httpStatus: status,
  error: null,
  externalId: null,
})

const commentsOf = ({ base, repository, number }: ReplyTarget): string =>
  `${base}/repos/${repository}/issues/${number}/comments`
const githubHeaders = (secret: string) => ({
  ...json,
  accept: 'application/vnd.github+json',
  authorization: `Bearer ${secret}`,
})
const idOf = (value: unknown): string | null =>
  typeof value === 'number' || typeof value === 'string' ? String(value).slice(0, 100) : null

/** Slack reports errors with status 200. Only its error codes are shown, which are plain words. */
function slackProblem(answer: Exchanged): Posted | undefined {
  const { ok, error } = recordOf(answer.body)
  if (!isOk(answer)) return notPosted(answer)
  if (ok === true) return undefined
  const code = textIn(error)?.match(/^[a-z_]{1,60}$/)?.[0] ?? 'unknown error'
  // Others may have posted the message, or fail again.
  const isTemporary = ['ratelimited', 'service_unavailable']
  return { ...notPosted(answer), isFinal: !isTemporary.includes(code), error: `Slack returned the error ${code}` }
}

const slackHeaders = (secret: string) => ({
  ...json,
  'content-type': 'application/json; charset=utf-8',
  authorization: `Bearer ${secret}`,
})
const slackEvent = 'switchyard_reply'

/** Without this, an answer could notify a whole channel. Source: Slack API, Formatting text. */
const slackText = (text: string): string =>
  cut(text, maxMessageLength).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Source: Slack API, chat.postMessage and conversations.replies. */
const slack: Receiver = {
  async post(exchange, { id, target: { base, channel, thread_ts }, secret, text }) {
    const metadata = { event_type: slackEvent, event_payload: { id } }
    const body = JSON.stringify({ channel, thread_ts, text: slackText(text), metadata })
    const url = `${base}/chat.postMessage`
    const answer = await exchange({ method: 'POST', url, headers: slackHeaders(secret), body })
    return slackProblem(answer) ?? posted(answer.status, idOf(recordOf(answer.body)['ts']))
  },
  async find(exchange, { id, queued, target: { base, channel, thread_ts }, secret }) {
    const oldest = String(Math.floor(queued.getTime() / 1_000))
    const query = new URLSearchParams({
      channel: String(channel),
      ts: String(thread_ts),
      oldest,
      limit: '200',
      include_all_metadata: 'true',
    })
    const url = `${base}/conversations.replies?${query}`
    const answer = await exchange({ method: 'GET', url, headers: slackHeaders(secret) })
    const problem = slackProblem(answer)
    if (problem) return problem
    const isOwn = (message: unknown) => recordOf(recordOf(recordOf(message)['metadata'])['event_payload'])['id'] === id
    const own = listOf(recordOf(answer.body)['messages']).find(isOwn)
    return own ? posted(answer.status, idOf(recordOf(own)['ts'])) : notFound(answer)
  },
}

/** Signed as outbound webhooks are. The id is the same in every attempt, so the receiver deduplicates. */
const callback: Receiver = {
  async post(exchange, { id, target: { base }, secret, kind, text, data }) {
    if (!isWebhookSecret(secret)) {
      const error = 'secret of a callback must be whsec_ and 24 to 64 bytes in base64'
      return { isPosted: false, isFinal: true, httpStatus: null, error, externalId: null }
    }
    const timestamp = new Date()
    const content = { type: callbackType, timestamp: timestamp.toISOString(), data: { id, kind, text, ...data } }
    const body = JSON.stringify(content)
    const signed = signatureHeaders({ id, timestamp: Math.floor(timestamp.getTime() / 1_000), body }, [secret])
    const answer = await exchange({ method: 'POST', url: base, headers: { ...json, ...signed }, body })
    return isOk(answer) ? posted(answer.status, null) : notPosted(answer)
  },
}

/** Receivers of replies by type. */
export const receivers: Readonly<Record<WebhookReply['type'], Receiver>> = {
  github_comment: github,
  slack_thread: slack,
  callback,
}
