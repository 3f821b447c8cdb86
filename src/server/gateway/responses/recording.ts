import { type Json, jsonOr, recordOf, textIn } from '../../platform/json.ts'
import { dataOf } from '../bytes/event-frames.ts'
import type { Sink } from '../core/call.ts'

interface Callbacks {
  /** Called with the id of a passed-through response; for a stream as soon as its first event holds the id. */
  onId(id: string, deployment: string): void
  /** Called with a complete response that the gateway translated. */
  onAnswer(response: Json, deployment: string): void
}

interface Options extends Callbacks {
  readonly sink: Sink
  /** Id of the response if the gateway translates it. */
  readonly ownId: string
}

/** Maximum bytes of a stream in which its id is searched. */
const maxSearched = 1024 * 1024
const idInFirstEvent = /"response"\s*:\s*\{\s*"id"\s*:\s*"([^"\\]{1,200})"/
const lastEvents = [Buffer.from('event: response.completed\n'), Buffer.from('event: response.incomplete\n')]

/** Returns a sink that forwards every byte to `sink` at once and reads the response from it. */
export function recordingSink({ sink, ownId, onId, onAnswer }: Options): Sink {
  let deployment: string | undefined
  let isStream = false
  let id: string | undefined
  let seen: Buffer[] = []
  let seenBytes = 0

  const found = (given: string): void => {
    id = given
    seen = []
    if (deployment !== undefined && given !== '' && given !== ownId) onId(given, deployment)
  }

  const searchId = (chunk: Buffer): void => {
    seen.push(chunk)
    seenBytes += chunk.length
    const given = idInStream(seen.length === 1 ? chunk : Buffer.concat(seen))
    if (given !== undefined) found(given)
    else if (seenBytes > maxSearched) found('')
  }

  const readStream = (chunk: Buffer): void => {
    if (id === undefined) searchId(chunk)
    if (id !== ownId || deployment === undefined) return
    // Translation never splits a frame between chunks.
    const response = lastResponse(chunk)
    if (response) onAnswer(response, deployment)
  }

  const readWhole = (): void => {
    const response = recordOf(jsonOr(Buffer.concat(seen).toString(), undefined))
    const given = textIn(response['id'])
    if (given === undefined || given === '' || deployment === undefined) return
    if (given === ownId) onAnswer(response, deployment)
    else found(given)
  }

  const see = (chunk: Buffer): void => {
    if (deployment === undefined) return
    if (isStream) readStream(chunk)
    else seen.push(chunk)
  }

  return {
    head(status, headers) {
      if (status === 200) deployment = headers['x-switchyard-deployment']
      isStream = String(headers['content-type']).startsWith('text/event-stream')
      sink.head(status, headers)
    },
    data(chunk) {
      const hasRoom = sink.data(chunk)
      see(chunk)
      return hasRoom
    },
    onDrain: resume => sink.onDrain(resume),
    end(chunk) {
      sink.end(chunk)
      if (chunk) see(chunk)
      if (!isStream && deployment !== undefined) readWhole()
    },
  }
}

/** Returns the id in the first event of a stream; undefined until its bytes have arrived. */
function idInStream(start: Buffer): string | undefined {
  const text = start.toString('utf8')
  const near = idInFirstEvent.exec(text)?.[1]
  if (near !== undefined) return near
  for (const frame of text.split(/\r?\n\r?\n/).slice(0, -1)) {
    const given = textIn(recordOf(dataOf(Buffer.from(frame))?.['response'])['id'])
    if (given !== undefined) return given
  }
  return undefined
}

/** Returns the response in the last event of a stream; undefined when `chunk` does not hold that event. */
function lastResponse(chunk: Buffer): Json | undefined {
  const at = Math.max(...lastEvents.map(event => chunk.lastIndexOf(event)))
  if (at < 0) return undefined
  const end = chunk.indexOf('\n\n', at)
  const data = dataOf(chunk.subarray(at, end < 0 ? chunk.length : end + 2))
  return data && recordOf(data['response'])
}
