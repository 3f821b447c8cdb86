import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answered, Sent, Target } from '../support/service/send.ts'
import type { Bench } from './fault-case.ts'
import { sendOnce } from './single-connection.ts'

/** A session that the service acknowledged. */
export interface AcknowledgedSession {
  readonly id: string
  readonly key: string
}

/** A prompt that the service acknowledged; `key` is in its text. */
export interface AcknowledgedPrompt {
  readonly sessionId: string
  readonly key: string
}

/** What the clients of a case were promised: a line before each request, one after each answer. */
export interface Journal {
  readonly sessions: readonly AcknowledgedSession[]
  readonly prompts: readonly AcknowledgedPrompt[]
  /** Answers by status, and failed connections under 0. */
  readonly statuses: ReadonlyMap<number, number>
  /** Answers of 400 and above, for the check of what they reveal. */
  readonly rejections: readonly Answered[]
  /** Sends a request until it is answered with success, always under the same key. Rejects on a permanent error. */
  until2xx(target: () => Target, request: JournaledRequest): Promise<Answered>
  /** `fields` go into the body besides the title. */
  session(target: () => Target, key: string, fields?: object): Promise<string>
  prompt(target: () => Target, prompt: JournaledPrompt): Promise<void>
}

interface JournaledRequest extends Sent {
  readonly line: string
  /** Names the request in the journal. */
  readonly key: string
}

interface JournaledPrompt {
  readonly sessionId: string
  readonly key: string
  readonly text: string
  /** How a repeat is recognised. */
  readonly by: 'message id' | 'idempotency key'
}

/** Refusals that another try may cure. */
const passing = new Set([0, 408, 409, 429, 502, 503, 504])
const retryMs = 100
const giveUpMs = 120_000

/** A journal in the case's folder. */
export function createJournal({ folder, signal }: Pick<Bench, 'folder' | 'signal'>): Journal {
  const file = join(folder, 'journal.jsonl')
  const sessions: AcknowledgedSession[] = []
  const prompts: AcknowledgedPrompt[] = []
  const statuses = new Map<number, number>()
  const rejections: Answered[] = []
  const write = (entry: object) => appendFileSync(file, `${JSON.stringify({ at: Date.now(), ...entry })}\n`)

  const attempt = async (target: Target, { line, key, ...sent }: JournaledRequest): Promise<Answered | undefined> => {
    write({ sent: line, key })
    const answer = await sendOnce(target, line, sent).catch(() => undefined)
    const status = answer?.status ?? 0
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    write({ answered: line, key, status })
    if (answer && status >= 400) rejections.push(answer)
    return answer
  }

  const until2xx: Journal['until2xx'] = async (target, request) => {
    const startedAt = performance.now()
    for (;;) {
      const answer = await attempt(target(), request)
      if (answer && answer.status < 300) return answer
      if (!passing.has(answer?.status ?? 0)) throw new Error(`${request.line}: ${answer?.status} ${answer?.text}`)
      signal.throwIfAborted()
      if (performance.now() - startedAt > giveUpMs) throw new Error(`${request.line}: no success in ${giveUpMs} ms`)
      await sleep(retryMs)
    }
  }

  return {
    sessions,
    prompts,
    statuses,
    rejections,
    until2xx,
    async session(target, key, fields) {
      const headers = { 'idempotency-key': key }
      const answer = await until2xx(target, { line: 'POST /session', key, headers, body: { title: key, ...fields } })
      const { id } = answer.json<{ id: string }>()
      sessions.push({ id, key })
      return id
    },
    async prompt(target, { sessionId, key, text, by }) {
      const body = {
        model: { modelID: 'scripted' },
        parts: [{ type: 'text', text }],
        ...(by === 'message id' && { messageID: key }),
      }
      const headers = by === 'idempotency key' ? { 'idempotency-key': key } : {}
      await until2xx(target, { line: `POST /session/${sessionId}/prompt_async`, key, headers, body })
      prompts.push({ sessionId, key })
    },
  }
}
