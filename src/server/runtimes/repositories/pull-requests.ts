import type { PullRequest } from '../../../contract/repositories.ts'
import type { GitHost, GitHostType } from '../../config/agent-settings.ts'
import { withoutEchoes } from '../../platform/echoes.ts'
import { jsonOr, recordOf } from '../../platform/json.ts'
import { blockedReasonFor, type Outbound, OutboundBlocked } from '../../platform/outbound.ts'
import { smallRequest } from '../../platform/small-request.ts'
import { gitea } from './hosts/gitea.ts'
import { github } from './hosts/github.ts'
import { gitlab } from './hosts/gitlab.ts'
import type { HostApi, HostRequest, PullRequestDraft } from './hosts/host-api.ts'

const apis: Readonly<Record<GitHostType, HostApi>> = { github, gitlab, gitea }

/** A pull request could not be opened. The message is for people, without the credential. */
export class PullRequestFailed extends Error {
  override readonly name = 'PullRequestFailed'
}

interface Opening {
  readonly host: GitHost
  readonly token: string
  readonly draft: PullRequestDraft
}

const maxBytes = 4 * 1024 * 1024
const totalMs = 30_000

/** Opens pull requests with the API of a host. */
export type PullRequests = ReturnType<typeof createPullRequests>

export function createPullRequests(guard: () => Outbound) {
  async function call({ host, token }: Opening, { path, body }: HostRequest) {
    const api = apis[host.type]
    const url = `${host.apiBase}${path}`
    const outbound = guard()
    const reason = blockedReasonFor(url, outbound)
    if (reason !== undefined) throw new PullRequestFailed(reason)
    const headers = { 'user-agent': 'Switchyard', accept: 'application/json', ...api.headers(token) }
    const json = body && { body: JSON.stringify(body), headers: { ...headers, 'content-type': 'application/json' } }
    try {
      const method = body ? 'POST' : 'GET'
      const { status, text } = await smallRequest(outbound, { method, url, headers, maxBytes, totalMs, ...json })
      return { status, value: jsonOr(text, undefined) }
    } catch (error) {
      const said = error instanceof OutboundBlocked ? error.message : `no response from the API of ${host.host}`
      throw new PullRequestFailed(said, { cause: error })
    }
  }

  async function find(opening: Opening): Promise<PullRequest | undefined> {
    const api = apis[opening.host.type]
    const { status, value } = await call(opening, api.listing(opening.draft))
    if (status !== 200) throw problem(opening, status, value)
    return api.found(value, opening.draft)
  }

  return {
    /**
     * Returns the open pull request of the branch, which is created if there is none. A repetition after a crash finds
     * the first one. Rejects with `PullRequestFailed`.
     */
    async open(opening: Opening): Promise<PullRequest> {
      const existing = await find(opening)
      if (existing) return existing
      const api = apis[opening.host.type]
      const { status, value } = await call(opening, api.creation(opening.draft))
      const made = status < 300 ? api.created(value) : undefined
      // Another request may have created it in between.
      const found = made ?? (status === 409 || status === 422 ? await find(opening) : undefined)
      if (found) return found
      throw problem(opening, status, value)
    },
  }
}

const maxMessageLength = 300

function problem({ host, token, draft }: Opening, status: number, value: unknown): PullRequestFailed {
  const { name } = apis[host.type]
  const rights =
    status === 401 || status === 403 || status === 404 ? '; the token must be allowed to open pull requests' : ''
  const { message, error, errors } = recordOf(value)
  const given = [message ?? error, ...(Array.isArray(errors) ? errors.map(each => recordOf(each)['message']) : [])]
  const words = given.flatMap(each => (Array.isArray(each) ? each : [each])).filter(each => typeof each === 'string')
  const said = withoutEchoes(words.join('; ').replaceAll(/\s+/g, ' ').slice(0, maxMessageLength), [token])
  return new PullRequestFailed(
    `${name} did not open a pull request for ${draft.repository} (HTTP ${status})${said === '' ? '' : `: ${said}`}${rights}`,
  )
}
