// A model provider that answers at once: `{}`; prints `{"origin"}`. Runs until it is told to end.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  closingFrames,
  deltaFrame,
  deltasPerStream,
  jsonAnswer,
  type Kind,
  kinds,
  openingFrames,
  paceMs,
  promptEvents,
} from './exchange.ts'
import { chatAnswer, chatFrames, chatKindOf } from './gateway/chat-exchange.ts'

/** What it answers in one dialect. */
interface Script {
  readonly json: Buffer
  readonly frames: () => Generator<string, undefined>
}

const anthropic: Script = { json: jsonAnswer, frames: framesOfStream }
const chat: Script = { json: chatAnswer, frames: chatFrames }

const server = createServer({ noDelay: true }, (request, response) => {
  const chatKind = chatKindOf(request.url)
  let kind = chatKind
  request.on('data', (chunk: Buffer) => {
    kind ??= kindOf(chunk)
  })
  request.on('end', () => answer({ kind: kind ?? 'json', script: chatKind ? chat : anthropic }, response, request))
})
server.keepAliveTimeout = 60_000
// Room for every connection that a contender opens at once.
server.listen(0, '127.0.0.1', 4_096, () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ origin: `http://127.0.0.1:${port}` })}\n`)
})

/** The model is at the start of the body. */
function kindOf(chunk: Buffer): Kind {
  const start = chunk.toString('latin1', 0, 64)
  return kinds.find(kind => start.includes(`${kind}"`)) ?? 'json'
}

interface Asked {
  readonly kind: Kind
  readonly script: Script
}

function answer(
  { kind, script: { json, frames: open } }: Asked,
  response: ServerResponse,
  request: IncomingMessage,
): void {
  if (kind === 'json') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': json.length }).end(json)
    return
  }
  const { socket } = request
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  const frames = open()
  const step = (): boolean => {
    const { value, done } = frames.next()
    if (done || socket.destroyed) response.end()
    else response.write(value)
    return !done && !socket.destroyed
  }
  // Each event is a write of its own, also without a pause.
  const run = (): void => {
    if (step()) setImmediate(run)
  }
  if (kind === 'burst') setImmediate(run)
  else if (kind === 'prompt') {
    for (let events = 0; events < promptEvents; events++) step()
    setTimeout(run, paceMs)
  } else {
    const timer = setInterval(() => {
      if (!step()) clearInterval(timer)
    }, paceMs)
  }
}

function* framesOfStream(): Generator<string, undefined> {
  yield* openingFrames
  for (let number = 0; number < deltasPerStream; number++) yield deltaFrame(number)
  yield* closingFrames
}
