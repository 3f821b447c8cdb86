import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after } from 'node:test'

/** What a fake does with the next post: fails without it, stores it and loses the response, or answers as usual. */
export type Fate = number | 'lose' | { readonly slackError: string }

/** A comment or message that a fake has stored. */
export interface StoredReply {
  readonly id: string
  /** Path of the comments, or channel and thread. */
  readonly place: string
  readonly text: string
  readonly authorization: string | undefined
  readonly metadata?: unknown
}

/** GitHub's comments and Slack's messages on loopback, as far as replies need them. Ends with the file. */
export async function startReplyFakes() {
  const stored: StoredReply[] = []
  const fates: Fate[] = []
  let looks = 0
  let posts = 0

  function listed({ url = '' }: IncomingMessage): unknown {
    looks++
    const { pathname, searchParams } = new URL(url, 'http://fake')
    if (pathname.startsWith('/repos/'))
      return stored.filter(({ place }) => place === pathname).map(({ id, text: body }) => ({ id: Number(id), body }))
    const place = `${searchParams.get('channel')} ${searchParams.get('ts')}`
    const messages = stored.filter(each => each.place === place).map(({ id: ts, ...rest }) => ({ ts, ...rest }))
    return { ok: true, messages }
  }

  function store({ url = '', headers: { authorization } }: IncomingMessage, body: Record<string, unknown>): unknown {
    const id = String(1_000 + stored.length)
    if (url.startsWith('/repos/')) {
      stored.push({ id, place: url, text: String(body['body']), authorization })
      return { id: Number(id) }
    }
    const place = `${body['channel']} ${body['thread_ts']}`
    stored.push({ id, place, text: String(body['text']), authorization, metadata: body['metadata'] })
    return { ok: true, ts: id }
  }

  const server = createServer(async (request, response) => {
    const said = await text(request)
    if (request.method === 'GET') return response.end(JSON.stringify(listed(request)))
    posts++
    const fate = fates.shift()
    if (typeof fate === 'number') return response.writeHead(fate).end('{}')
    if (typeof fate === 'object') return response.end(JSON.stringify({ ok: false, error: fate.slackError }))
    const answer = store(request, JSON.parse(said))
    if (fate === 'lose') return request.socket.destroy()
    return response.writeHead(201).end(JSON.stringify(answer))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${host}`,
    host,
    stored,
    /** Of the next posts, in order. */
    fates,
    get looks() {
      return looks
    },
    get posts() {
      return posts
    },
  }
}
