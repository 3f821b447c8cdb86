import { createHmac, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after } from 'node:test'
import { startGitServer } from './git-server.ts'
import { startHostFake } from './host-fakes.ts'

interface Hook {
  readonly url: string
  readonly secret: string
}

interface Issue {
  readonly number: number
  readonly title: string
  readonly body: string
  readonly comments: { readonly id: number; readonly body: string }[]
}

type Sent = Readonly<Record<string, unknown>>

/**
 * GitHub on loopback: git over HTTP, pull requests, issues with comments, and webhooks, which it signs and delivers.
 * Ends with the file.
 */
export async function startGitHubFake(token: string) {
  const basic = `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`
  const git = await startGitServer({ accepts: [basic] })
  const pulls = await startHostFake('github', token)
  const hooks: Hook[] = []
  const issues: Issue[] = []
  /** Status of each delivery, by its event and action. */
  const deliveries: { readonly event: string; readonly status: number }[] = []

  async function deliver({ url, secret }: Hook, event: string, payload: Sent): Promise<void> {
    const body = JSON.stringify(payload)
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'GitHub-Hookshot/fake',
        'x-github-event': event,
        'x-github-delivery': randomUUID(),
        'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      },
    })
    deliveries.push({ event: [event, payload['action']].filter(Boolean).join('.'), status: response.status })
  }

  /** Delivers in the background, as GitHub does. */
  const announce = async (event: string, payloads: readonly Sent[]): Promise<void> => {
    for (const payload of payloads) for (const hook of hooks) await deliver(hook, event, payload)
  }

  function addHook({ config }: Sent): object {
    const { url, secret } = config as Hook
    hooks.push({ url, secret })
    void deliver({ url, secret }, 'ping', { zen: 'Keep it simple.', hook_id: hooks.length })
    return { id: hooks.length }
  }

  function addIssue(repository: string, { title, body, labels = [] }: Sent): object {
    const issue = { number: issues.length + 1, title: String(title), body: String(body), comments: [] }
    issues.push(issue)
    const { comments: _comments, ...shown } = issue
    const about = { issue: shown, repository: { full_name: repository }, sender: { type: 'User' } }
    const labelled = (labels as string[]).map(name => ({ action: 'labeled', label: { name }, ...about }))
    void announce('issues', [{ action: 'opened', ...about }, ...labelled])
    return shown
  }

  function answer(method: string, path: string, sent: Sent): object | undefined {
    const [, owner, name, what = '', number] = path.split('/').slice(1)
    const issue = issues[Number(number) - 1]
    if (method === 'GET') return issue?.comments
    if (what === 'hooks') return addHook(sent)
    if (what === 'issues' && number === undefined) return addIssue(`${owner}/${name}`, sent)
    if (!issue) return undefined
    const comment = { id: issue.comments.length + 1, body: String(sent['body']) }
    issue.comments.push(comment)
    return comment
  }

  const api = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    const sent = await text(request)
    const { pathname } = new URL(url, 'http://fake')
    const reply = (status: number, body: string) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    if (pathname.includes('/pulls')) {
      const passed = { authorization: headers.authorization ?? '', 'content-type': 'application/json' }
      const made = await fetch(`${pulls.url}${url}`, { method, headers: passed, ...(sent !== '' && { body: sent }) })
      return reply(made.status, await made.text())
    }
    if (headers.authorization !== `Bearer ${token}`) return reply(401, '{"message":"Bad credentials"}')
    const found = answer(method, pathname, sent === '' ? {} : (JSON.parse(sent) as Sent))
    return found ? reply(method === 'POST' ? 201 : 200, JSON.stringify(found)) : reply(404, '{"message":"Not Found"}')
  })
  await new Promise<void>(resolve => api.listen(0, '127.0.0.1', resolve))
  after(() => {
    api.closeAllConnections()
    api.close()
  })
  const host = `127.0.0.1:${(api.address() as AddressInfo).port}`
  return { git, pulls: pulls.pulls, issues, deliveries, apiHost: host, apiUrl: `http://${host}` }
}
