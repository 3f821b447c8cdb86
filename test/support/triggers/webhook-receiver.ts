import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after } from 'node:test'

/** A delivery as it came. */
export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Status and body of an answer; `hang` never answers. */
export type ReceiverAnswer =
  | number
  | 'hang'
  | { readonly status: number; readonly body?: string; readonly location?: string }

/** How a receiver answers; `count`: requests so far, with this one. */
export type AnswerTo = (received: Received, count: number) => ReceiverAnswer

/** A receiver of webhooks that keeps what it was asked, and what it took with a 2xx, in order. Ends with the file. */
export async function startWebhookReceiver(answer: AnswerTo = () => 200) {
  const accepted: Received[] = []
  const requests: Received[] = []
  const server = createServer(async (request, response) => {
    const received = { headers: request.headers, text: (await buffer(request)).toString() }
    requests.push(received)
    const said = answer(received, requests.length)
    if (said === 'hang') return
    const { status, body = '', location } = typeof said === 'number' ? { status: said } : said
    if (status < 300) accepted.push(received)
    response.writeHead(status, location === undefined ? {} : { location }).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url: `http://${host}/hook`, host, accepted, requests }
}
