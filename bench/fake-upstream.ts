// A model provider that answers at once: `{}`; prints `{"origin"}`. Runs until it is told to end.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { closingFrames, deltaFrame, deltasPerStream, jsonAnswer, type Kind, openingFrames, paceMs } from './exchange.ts'

const server = createServer({ noDelay: true }, (request, response) => {
  let kind: Kind | undefined
  request.on('data', (chunk: Buffer) => {
    kind ??= kindOf(chunk)
  })
  request.on('end', () => answer(kind ?? 'json', response, request))
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ origin: `http://127.0.0.1:${port}` })}\n`)
})

/** The model is at the start of the body. */
function kindOf(chunk: Buffer): Kind {
  const start = chunk.toString('latin1', 0, 64)
  if (start.includes('paced"')) return 'paced'
  return start.includes('burst"') ? 'burst' : 'json'
}

function answer(kind: Kind, response: ServerResponse, { socket }: IncomingMessage): void {
  if (kind === 'json') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': jsonAnswer.length }).end(jsonAnswer)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  const frames = framesOfStream()
  const step = (): boolean => {
    const { value, done } = frames.next()
    if (done || socket.destroyed) response.end()
    else response.write(value)
    return !done && !socket.destroyed
  }
  // Each event is a write of its own, also without a pause.
  if (kind === 'burst')
    setImmediate(function again() {
      if (step()) setImmediate(again)
    })
  else {
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
