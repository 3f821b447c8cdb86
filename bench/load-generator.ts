// Sends model calls and checks that every answer is whole: a `ModelLoad`; prints a `LoadResult` and ends.
import { type Dispatcher, Pool } from 'undici'
import {
  aliasOf,
  deltasPerStream,
  eventsPerStream,
  frameCutter,
  jsonAnswer,
  nowUs,
  readDelta,
  requestBody,
} from './exchange.ts'
import type { LoadResult, ModelLoad } from './model-load.ts'
import { percentile } from './statistics.ts'

const load = JSON.parse(process.argv[2] ?? '{}') as ModelLoad
const deadlineMs = 120_000

const { origin, key, kind, connections, calls } = load
const body = requestBody(kind, load.bodyBytes)
const headers = { 'content-type': 'application/json', 'x-api-key': key, 'anthropic-version': '2023-06-01' }
const pool = new Pool(origin, { connections, pipelining: 1 })
const relayUs: number[] = []
const callMs: number[] = []

setTimeout(() => fail('the calls did not end in time'), deadlineMs).unref()
const startedAt = performance.now()
let started = 0
await Promise.all(Array.from({ length: connections }, sendOneByOne))
const result: LoadResult = {
  elapsedMs: performance.now() - startedAt,
  events: kind === 'json' ? 0 : calls * eventsPerStream,
  relayP50Ms: percentile(relayUs, 0.5) / 1_000,
  relayP99Ms: percentile(relayUs, 0.99) / 1_000,
  callP50Ms: percentile(callMs, 0.5),
  callP99Ms: percentile(callMs, 0.99),
}
process.stdout.write(`${JSON.stringify(result)}\n`)
await pool.close()

function fail(reason: string): never {
  process.stderr.write(`${aliasOf(kind)}: ${reason}\n`)
  process.exit(1)
}

async function sendOneByOne(): Promise<void> {
  while (started < calls) {
    started++
    const sentAt = performance.now()
    await new Promise<void>(resolve =>
      pool.dispatch({ method: 'POST', path: '/v1/messages', headers, body }, receiver(resolve)),
    )
    callMs.push(performance.now() - sentAt)
  }
}

function receiver(done: () => void): Dispatcher.DispatchHandler {
  const answer = kind === 'json' ? wholeAnswer() : wholeStream()
  let status = 0
  return {
    onRequestStart: () => undefined,
    onResponseStart(_controller, code) {
      status = code
    },
    onResponseData: (_controller, chunk) => answer.take(chunk),
    onResponseEnd() {
      if (status !== 200) fail(`status ${status}: ${answer.text()}`)
      const fault = answer.fault()
      if (fault !== undefined) fail(fault)
      done()
    },
    onResponseError: (_controller, error) => fail(`the call broke: ${error.message}`),
  }
}

interface Receiving {
  take(chunk: Buffer): void
  /** What is wrong with the answer, once it has ended. */
  fault(): string | undefined
  text(): string
}

function wholeAnswer(): Receiving {
  const chunks: Buffer[] = []
  return {
    take: chunk => void chunks.push(chunk),
    fault: () => (Buffer.concat(chunks).equals(jsonAnswer) ? undefined : 'an answer differs from what was sent'),
    text: () => Buffer.concat(chunks).toString(),
  }
}

/** Reads frame by frame: each text event must be the next one, and the last frame the end of the message. */
function wholeStream(): Receiving {
  let last = ''
  let frames = 0
  let deltas = 0
  const onFrame = (frame: string): void => {
    frames++
    last = frame
    const delta = readDelta(frame)
    if (!delta) return
    if (delta.number !== deltas) fail(`event ${delta.number} came in place of ${deltas}`)
    deltas++
    relayUs.push(nowUs() - delta.sentUs)
  }
  const cutter = frameCutter(onFrame)
  return {
    take: cutter.take,
    fault() {
      const isWhole = cutter.rest() === '' && frames === eventsPerStream && deltas === deltasPerStream
      return isWhole && last.includes('message_stop') ? undefined : `a stream ended after ${frames} events`
    },
    text: () => last || cutter.rest(),
  }
}
