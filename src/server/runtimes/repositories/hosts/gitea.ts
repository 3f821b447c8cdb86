import { recordOf } from '../../../platform/json.ts'
import { type HostApi, itemsOf, pullRequestIn } from './host-api.ts'

/** Gitea and Forgejo. Their listing has no filter by branch; the newest come first. */
export const gitea: HostApi = {
  name: 'Gitea',
  headers: token => ({ authorization: `token ${token}` }),
  listing: ({ repository }) => ({ path: `/repos/${repository}/pulls?state=open&sort=recentupdate&limit=50` }),
  found(listed, { branch }) {
    const own = itemsOf(listed).find(item => recordOf(recordOf(item)['head'])['ref'] === branch)
    return pullRequestIn(own, 'number', 'html_url')
  },
  creation: ({ repository, branch, base, title, body }) => ({
    path: `/repos/${repository}/pulls`,
    body: { title, body, head: branch, base },
  }),
  created: response => pullRequestIn(response, 'number', 'html_url'),
}
