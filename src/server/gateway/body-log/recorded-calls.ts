import { statusOfCode } from '../../../contract/errors.ts'
import { AppError } from '../../platform/errors.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import { payersOf } from '../core/booking.ts'
import { type Call, isCount, type Outcome, type Sink } from '../core/call.ts'
import type { Gateway } from '../gateway.ts'
import type { BodyRecords } from './records.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'call' | 'deployment' | 'logsBodies'>
  readonly records: Pick<BodyRecords, 'keep'>
}

/** Of each body. A few hundred sentences tell what went wrong; the search for secrets looks at every byte. */
const mostBytes = 256 * 1024

/**
 * Model calls whose bodies are recorded where their key or the model that answers wants it. Everything reaches the sink as it
 * came, and at once.
 */
export function createRecordedCalls({ gateway, records }: Deps): Pick<Gateway, 'call'> {
  const isOn = (untilMs: number | undefined) => untilMs !== undefined && Date.now() < untilMs
  const wantsRecord = (id: string | undefined): boolean =>
    id !== undefined && isOn(gateway.deployment(id)?.logBodiesUntilMs)

  return {
    async call(call: Call, sink: Sink): Promise<Outcome> {
      const isKeys = isOn(call.caller.key?.logBodiesUntilMs)
      if (isCount(call.kind) || !(isKeys || gateway.logsBodies())) return gateway.call(call, sink)
      const answer = new AnswerRecord(sink)
      try {
        return await gateway.call(call, answer)
      } catch (error) {
        if (error instanceof AppError) answer.refused(error)
        throw error
      } finally {
        if (isKeys || wantsRecord(answer.deployment))
          records.keep(rowOf(call), { request: requestOf(call), response: answer.recorded() })
      }
    },
  }
}

/** A sink that keeps the beginning of an answer. */
class AnswerRecord implements Sink {
  readonly #sink: Sink
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #status: number | null = null
  #contentType: string | null = null
  deployment: string | undefined
  readonly cut?: () => void

  constructor(sink: Sink) {
    this.#sink = sink
    if (sink.cut) this.cut = () => sink.cut?.()
  }

  head(status: number, headers: Readonly<Record<string, string>>): void {
    this.#status = status
    this.#contentType = headers['content-type'] ?? null
    this.deployment = headers['x-switchyard-deployment']
    this.#sink.head(status, headers)
  }

  data(chunk: Buffer): boolean {
    this.#keep(chunk)
    return this.#sink.data(chunk)
  }

  onDrain(resume: () => void): void {
    this.#sink.onDrain(resume)
  }

  end(chunk?: Buffer): void {
    if (chunk) this.#keep(chunk)
    this.#sink.end(chunk)
  }

  /** The client gets this error in its own envelope. */
  refused({ code, message, headers }: AppError): void {
    this.#status = statusOfCode(code)
    this.#contentType = 'text/plain'
    this.deployment = headers['x-switchyard-deployment']
    this.#keep(Buffer.from(message))
  }

  recorded() {
    const isText = this.#contentType === null || textTypes.test(this.#contentType)
    const body = isText ? Buffer.concat(this.#chunks) : null
    return {
      status: this.#status,
      content_type: this.#contentType,
      body,
      truncated: isText && this.#bytes > mostBytes,
    }
  }

  #keep(chunk: Buffer): void {
    const room = mostBytes - this.#bytes
    this.#bytes += chunk.length
    if (room > 0) this.#chunks.push(chunk.subarray(0, room))
  }
}

const textTypes = /^(text\/|application\/(json|x-ndjson|[\w.-]+\+json))/

function requestOf({ body, headers }: Call) {
  const [type = null] = [headers['content-type']].flat()
  const isForm = type !== null && /^multipart\//i.test(type)
  return {
    content_type: type,
    body: isForm ? null : beginningOf(body),
    truncated: !isForm && body.length > mostBytes,
  }
}

/** A part of a long body would keep all of it in memory for as long as its record waits. */
const beginningOf = (body: Buffer): Buffer =>
  body.length > mostBytes ? Buffer.from(body.subarray(0, mostBytes)) : body

const modelKey = keysOf(['model'])

function rowOf(call: Call) {
  const { requestId, caller, address, body } = call
  const payers = payersOf(call)
  const span = address ? undefined : ownMembers(body, modelKey)?.values[0]
  const named: unknown = span && JSON.parse(body.toString('utf8', span.start, span.end))
  return {
    request_id: requestId,
    principal: caller.principal,
    api_key_id: payers?.key ?? null,
    owner_id: payers?.owner ?? null,
    model: (address?.model ?? (typeof named === 'string' ? named : ''))
      .replaceAll('\0', '')
      .slice(0, 300)
      .toWellFormed(),
  }
}
