import { isRecord, type Json, jsonOr, recordOf, textIn } from '../../platform/json.ts'
import { FrameSplitter, readFrame } from '../bytes/event-frames.ts'
import type { Sink } from '../core/call.ts'
import { asOwn, endOf, type Identity, isBeginning, ownResponse, statusIn } from './events.ts'
import type { BackgroundStatus } from './rows.ts'

/** Maximum bytes of an answer. */
const maxBytes = 64 * 1024 * 1024

interface Options {
  readonly identity: Identity
  /** Common part of the ids in an answer that the gateway translates in this run, and in all runs of the response. */
  readonly keys: { readonly ofRun: string; readonly own: string }
  /** Called with each event but the first and the last ones. Returns false when the sender should wait. */
  readonly onEvent: (event: Json) => boolean
  readonly onDrain: (resume: () => void) => void
  /** Called when the answer is too large. */
  readonly onTooLarge: () => void
}

/** Error of a response, as OpenAI's have it. */
export interface ResponseError {
  readonly code: string
  readonly message: string
}

/** The end of a run's answer. */
export interface Answered {
  readonly status: BackgroundStatus
  /** Undefined when the call failed without a response. */
  readonly response: Json | undefined
  readonly error: ResponseError | null
  readonly deployment: string
  /** Id at the upstream that stores the response; null for a translated one. */
  readonly upstreamId: string | null
}

/** Ids that the database stores. A response with any other one is continued from its content. */
const usableId = /^[\x21-\x7e]{1,500}$/

const noEnd: ResponseError = {
  code: 'server_error',
  message: 'the upstream ended the stream before the response was complete',
}

/** Reads the answer of a call: whole, or as events that it passes on with the ids of the background response. */
export class AnswerSink implements Sink {
  readonly #options: Options
  readonly #splitter: FrameSplitter
  #isEvents = false
  #status = 0
  #deployment = ''
  #pieces: Buffer[] = []
  #bytes = 0
  #hasRoom = true
  #upstreamId: string | undefined
  #end: Pick<Answered, 'status' | 'response' | 'error'> | undefined
  /** True once the whole answer was received. */
  isComplete = false

  constructor(options: Options) {
    this.#options = options
    this.#splitter = new FrameSplitter(frame => this.#takeFrame(frame), { maxBytes })
  }

  head(status: number, headers: Readonly<Record<string, string>>): void {
    this.#status = status
    this.#deployment = headers['x-switchyard-deployment'] ?? ''
    this.#isEvents = headers['content-type']?.startsWith('text/event-stream') ?? false
  }

  data(chunk: Buffer): boolean {
    this.#bytes += chunk.length
    if (this.#bytes > maxBytes) {
      this.#options.onTooLarge()
      return false
    }
    if (this.#isEvents) this.#splitter.push(chunk)
    else this.#pieces.push(Buffer.from(chunk))
    return this.#hasRoom
  }

  onDrain(resume: () => void): void {
    this.#options.onDrain(() => {
      this.#hasRoom = true
      resume()
    })
  }

  end(chunk?: Buffer): void {
    if (chunk) this.data(chunk)
    if (this.#bytes > maxBytes) return
    if (this.#isEvents) this.#splitter.finish()
    else this.#end = this.#whole()
    this.isComplete = true
  }

  /** Returns the end of the answer; an error if it has none. */
  answered(): Answered {
    const { ofRun, own } = this.#options.keys
    const isTranslated = this.#upstreamId === undefined || [`resp_${ofRun}`, `resp_${own}`].includes(this.#upstreamId)
    return {
      ...(this.#end ?? { status: 'failed', response: undefined, error: noEnd }),
      deployment: this.#deployment,
      upstreamId: isTranslated ? null : (this.#upstreamId ?? null),
    }
  }

  #whole(): Pick<Answered, 'status' | 'response' | 'error'> {
    const body = jsonOr(this.#ownText(Buffer.concat(this.#pieces).toString()), undefined)
    this.#pieces = []
    if (this.#status !== 200 || !isRecord(body)) return { status: 'failed', response: undefined, error: errorOf(body) }
    this.#noteId(body)
    return { status: statusIn(body), response: ownResponse(body, this.#options.identity), error: null }
  }

  #takeFrame(frame: Buffer): void {
    const text = readFrame(frame)?.data
    const event = text === undefined ? undefined : jsonOr(this.#ownText(text), undefined)
    if (this.#end || !isRecord(event)) return
    this.#noteId(recordOf(event['response']))
    if (event['type'] === 'error') {
      this.#end = { status: 'failed', response: undefined, error: errorOf(event) }
      return
    }
    const status = endOf(event)
    const own = asOwn(event, this.#options.identity)
    if (status) this.#end = { status, response: recordOf(own['response']), error: null }
    else if (!isBeginning(event) && !this.#options.onEvent(own)) this.#hasRoom = false
  }

  #noteId({ id }: Json): void {
    const given = textIn(id)
    if (given !== undefined && usableId.test(given)) this.#upstreamId ??= given
  }

  /** The key of a run is random, so that no other text contains it. */
  #ownText(text: string): string {
    const { ofRun, own } = this.#options.keys
    return ofRun === own ? text : text.replaceAll(ofRun, own)
  }
}

/** Returns the error in the body or the event of a failed call. */
function errorOf(body: unknown): ResponseError {
  const outer = recordOf(body)
  const error = isRecord(outer['error']) ? outer['error'] : outer
  return {
    code: textIn(error['code']) ?? textIn(error['type']) ?? 'server_error',
    message: textIn(error['message']) ?? 'the upstream answered with an error without a message',
  }
}
