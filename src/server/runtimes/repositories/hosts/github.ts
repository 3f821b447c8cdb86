import { type HostApi, itemsOf, pullRequestIn } from './host-api.ts'

/** GitHub and GitHub Enterprise Server. */
export const github: HostApi = {
  name: 'GitHub',
  headers: token => ({
    authorization: `Bearer ${token}`,
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
  }),
  listing({ repository, branch }) {
    const [owner = ''] = repository.split('/')
    const query = new URLSearchParams({ head: `${owner}:${branch}`, state: 'open', per_page: '1' })
    return { path: `/repos/${repository}/pulls?${query}` }
  },
  found: listed => pullRequestIn(itemsOf(listed)[0], 'number', 'html_url'),
  creation: ({ repository, branch, base, title, body }) => ({
    path: `/repos/${repository}/pulls`,
    body: { title, body, head: branch, base },
  }),
  created: response => pullRequestIn(response, 'number', 'html_url'),
}
