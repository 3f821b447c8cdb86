import { answerText, deltasPerStream, frameCutter, type Kind, nowUs, paceMs, readDelta } from '../exchange.ts'

/** What is counted over all answers of a load. Times are in milliseconds from the request. */
export interface Tally {
  readonly relayMs: number[]
  readonly firstByteMs: number[]
  readonly firstContentMs: number[]
  readonly wholeMs: number[]
  lostEvents: number
  stalls: number
}

/** Takes one answer as it comes. */
export interface Receipt {
  take(chunk: Buffer): void
  /** To be called once, at the end; what the answer lacks, or undefined when it is whole. */
  close(): string | undefined
  /** The start of what came. */
  excerpt(): string
}

const stallUs = 10 * paceMs * 1_000
const excerptLength = 300

/** Expects an answer of `kind` in any dialect, from now on. */
export function createReceipt(kind: Kind, tally: Tally): Receipt {
  const startedAt = performance.now()
  const answer = kind === 'json' ? wholeAnswer() : stream(tally, () => performance.now() - startedAt)
  let start = ''
  return {
    take(chunk) {
      if (start === '') {
        tally.firstByteMs.push(performance.now() - startedAt)
        start = chunk.toString('utf8', 0, excerptLength)
      }
      answer.take(chunk)
    },
    close() {
      const fault = answer.fault()
      if (fault === undefined) tally.wholeMs.push(performance.now() - startedAt)
      return fault
    },
    excerpt: () => start,
  }
}

interface Reader {
  take(chunk: Buffer): void
  fault(): string | undefined
}

function wholeAnswer(): Reader {
  const chunks: Buffer[] = []
  return {
    take: chunk => void chunks.push(chunk),
    fault: () => (Buffer.concat(chunks).includes(answerText) ? undefined : 'an answer lacks the text that was sent'),
  }
}

/** Reads frame by frame: each text event must be the next one, and the last frame the end of the message. */
function stream(tally: Tally, elapsedMs: () => number): Reader {
  let last = ''
  let deltas = 0
  let disorder: string | undefined
  let lateUs: number | undefined
  const onFrame = (frame: string): void => {
    last = frame
    const delta = readDelta(frame)
    if (!delta) return
    if (delta.number !== deltas) disorder ??= `event ${delta.number} came in place of ${deltas}`
    if (deltas++ === 0) tally.firstContentMs.push(elapsedMs())
    const relayUs = nowUs() - delta.sentUs
    if (relayUs - (lateUs ?? relayUs) > stallUs) tally.stalls++
    lateUs = relayUs
    tally.relayMs.push(relayUs / 1_000)
  }
  return {
    take: frameCutter(onFrame).take,
    fault() {
      tally.lostEvents += Math.max(0, deltasPerStream - deltas)
      if (disorder !== undefined) return disorder
      const isEnded = last.includes('message_stop') || last.includes('[DONE]')
      return isEnded && deltas === deltasPerStream ? undefined : `a stream ended after ${deltas} text events: ${last}`
    },
  }
}
