import { type HostApi, itemsOf, pullRequestIn } from './host-api.ts'

const requestsOf = (repository: string): string => `/projects/${encodeURIComponent(repository)}/merge_requests`

/** gitlab.com and GitLab on servers of its users. */
export const gitlab: HostApi = {
  name: 'GitLab',
  headers: token => ({ authorization: `Bearer ${token}` }),
  listing({ repository, branch }) {
    const query = new URLSearchParams({ source_branch: branch, state: 'opened', per_page: '1' })
    return { path: `${requestsOf(repository)}?${query}` }
  },
  found: listed => pullRequestIn(itemsOf(listed)[0], 'iid', 'web_url'),
  creation: ({ repository, branch, base, title, body }) => ({
    path: requestsOf(repository),
    body: { title, description: body, source_branch: branch, target_branch: base },
  }),
  created: response => pullRequestIn(response, 'iid', 'web_url'),
}
