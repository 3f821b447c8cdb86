import type { PullRequest } from '../../../../contract/repositories.ts'
import { recordOf } from '../../../platform/json.ts'

/** What is proposed. */
export interface PullRequestDraft {
  /** `acme/shop`; on GitLab also with groups: `acme/web/shop`. */
  readonly repository: string
  readonly branch: string
  readonly base: string
  readonly title: string
  readonly body: string
}

export interface HostRequest {
  /** Below the address of the API. */
  readonly path: string
  readonly body?: Readonly<Record<string, unknown>>
}

/** The calls of one type of host. */
export interface HostApi {
  /** Name for messages. */
  readonly name: string
  headers(token: string): Readonly<Record<string, string>>
  /** Lists the open pull requests of the branch. */
  listing(draft: PullRequestDraft): HostRequest
  /** Returns the branch's pull request from the listing. */
  found(listed: unknown, draft: PullRequestDraft): PullRequest | undefined
  creation(draft: PullRequestDraft): HostRequest
  /** Returns the pull request from the response to its creation; undefined when there is none. */
  created(response: unknown): PullRequest | undefined
}

/** Reads number and address of a pull request; undefined when one is missing. */
export function pullRequestIn(value: unknown, numberField: string, urlField: string): PullRequest | undefined {
  const record = recordOf(value)
  const [number, url] = [record[numberField], record[urlField]]
  const isUrl = typeof url === 'string' && url.length <= 500 && /^https?:$/.test(URL.parse(url)?.protocol ?? '')
  return Number.isSafeInteger(number) && isUrl ? { number: Number(number), url } : undefined
}

/** Returns the items of a listing. */
export const itemsOf = (listed: unknown): readonly unknown[] => (Array.isArray(listed) ? listed : [])
