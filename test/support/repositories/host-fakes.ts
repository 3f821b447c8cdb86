import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after } from 'node:test'

export type HostType = 'github' | 'gitlab' | 'gitea'

/** A pull request at a fake. */
export interface StoredPull {
  readonly repository: string
  readonly branch: string
  readonly base: string
  readonly title: string
  readonly body: string
  isOpen: boolean
}

/** What a fake does with the next creation instead: fails, or creates it and loses the response. */
export type Fate = number | 'lose'

const tokenOf: Readonly<Record<HostType, (headers: IncomingMessage['headers']) => string>> = {
  github: ({ authorization = '' }) => authorization.replace(/^Bearer /, ''),
  gitlab: ({ authorization = '' }) => authorization.replace(/^Bearer /, ''),
  gitea: ({ authorization = '' }) => authorization.replace(/^token /, ''),
}

/** The APIs for pull requests of GitHub, GitLab and Gitea on loopback. Ends with the file. */
export async function startHostFake(type: HostType, token: string) {
  const pulls: StoredPull[] = []
  const fates: Fate[] = []
  const requests: string[] = []
  let url = ''

  const shown = (pull: StoredPull) => {
    const number = pulls.indexOf(pull) + 1
    if (type === 'gitlab') return { iid: number, web_url: `${url}/${pull.repository}/-/merge_requests/${number}` }
    return { number, html_url: `${url}/${pull.repository}/pull/${number}`, head: { ref: pull.branch } }
  }
  const open = (repository: string) => pulls.filter(pull => pull.repository === repository && pull.isOpen)

  function listed(path: string, query: URLSearchParams): unknown {
    const all = open(repositoryIn(path))
    if (type === 'gitea') return all.toReversed().map(shown)
    const head = query.get('head')
    const branch = type === 'gitlab' ? query.get('source_branch') : head?.slice(head.indexOf(':') + 1)
    return all.filter(pull => pull.branch === branch).map(shown)
  }

  function created(path: string, sent: Readonly<Record<string, unknown>>): StoredPull | undefined {
    const [branch, base] =
      type === 'gitlab' ? [sent['source_branch'], sent['target_branch']] : [sent['head'], sent['base']]
    const repository = repositoryIn(path)
    if (open(repository).some(pull => pull.branch === branch)) return undefined
    const body = String(sent[type === 'gitlab' ? 'description' : 'body'])
    const pull = {
      repository,
      branch: String(branch),
      base: String(base),
      title: String(sent['title']),
      body,
      isOpen: true,
    }
    pulls.push(pull)
    return pull
  }

  const server = createServer(async (request, response) => {
    const sent = await text(request)
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://fake')
    requests.push(`${request.method} ${pathname}`)
    const reply = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (tokenOf[type](request.headers) !== token)
      return reply(401, { message: `Bad credentials: ${request.headers.authorization}` })
    if (request.method === 'GET') return reply(200, listed(pathname, searchParams))
    const fate = fates.shift()
    if (typeof fate === 'number') return reply(fate, { message: 'Validation Failed', errors: [{ message: 'no' }] })
    const pull = created(pathname, JSON.parse(sent) as Record<string, unknown>)
    if (fate === 'lose') return request.socket.destroy()
    return pull ? reply(201, shown(pull)) : reply(type === 'github' ? 422 : 409, { message: ['already exists'] })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  url = `http://${host}`
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { host, url, pulls, fates, requests }
}

/** Reads `acme/shop` from the path of a request. */
const repositoryIn = (path: string): string =>
  decodeURIComponent(/\/projects\/([^/]+)\//.exec(path)?.[1] ?? /\/repos\/([^/]+\/[^/]+)\//.exec(path)?.[1] ?? '')
