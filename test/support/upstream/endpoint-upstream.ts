import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { onLoopback } from '../service/on-loopback.ts'

/** A request that an upstream got. */
export interface GotRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** What the upstream answers next. */
export interface NextAnswer {
  readonly status?: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Several are written one by one. */
  readonly body: string | Buffer | readonly (string | Buffer)[]
  /** True: the connection ends before the answer does. */
  readonly isCut?: boolean
  /** True: there is no answer, until the client disconnects. */
  readonly isUnanswered?: boolean
}

/** An upstream that records what it gets and answers what the test sets. */
export async function startEndpointUpstream() {
  const requests: GotRequest[] = []
  let next: (request: GotRequest) => NextAnswer = () => ({ body: '{}' })
  let early: string | undefined
  const server = createServer((request, response) => {
    if (request.url === early) {
      request.once('data', () => write(response, { body: '{}' }))
      return
    }
    void buffer(request).then(body => {
      const { method = '', url = '', headers } = request
      const got = { method, url, headers, body }
      requests.push(got)
      write(response, next(got))
    })
  })
  const { url, close } = await onLoopback(server)
  return {
    url,
    requests: requests as readonly GotRequest[],
    last: (): GotRequest => {
      const found = requests.at(-1)
      if (!found) throw new Error('the upstream got no request')
      return found
    },
    answer(given: NextAnswer | ((request: GotRequest) => NextAnswer)) {
      next = typeof given === 'function' ? given : () => given
    },
    /** Answers the next request with `given`, and later ones as before. */
    answerOnce(given: NextAnswer) {
      const before = next
      next = () => {
        next = before
        return given
      }
    },
    /** Requests for that address are answered while their bodies may still be coming, and are not recorded. */
    answerAtFirstByteOf(url: string) {
      early = url
    },
    stop: close,
  }
}

function write(
  response: ServerResponse,
  { status = 200, type = 'application/json', headers, body, isCut, isUnanswered }: NextAnswer,
) {
  if (isUnanswered) return
  response.writeHead(status, { 'content-type': type, ...headers })
  const pieces = Array.isArray(body) ? body : [body]
  for (const piece of pieces) response.write(piece)
  if (isCut) setImmediate(() => response.destroy())
  else response.end()
}
