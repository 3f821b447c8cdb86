import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { Nullable } from './schemas.ts'

/** Pull request of a session; GitLab calls it a merge request. */
export const PullRequest = named(
  'PullRequest',
  Type.Object({ number: Type.Integer(), url: Type.String({ description: 'Page at the host' }) }),
)
export type PullRequest = Static<typeof PullRequest>

/** Repository that was cloned into the files of a session. */
export const SessionRepository = named(
  'SessionRepository',
  Type.Object({
    url: Type.String(),
    branch: Type.String({ description: 'Branch of the session' }),
    base: Nullable(Type.String({ description: 'Branch that the work started from' })),
    commit: Type.String({ description: 'Commit that the work started from' }),
    submodules: Type.Array(Type.String(), { description: 'Paths of submodules at the same host' }),
    pushed_commit: Nullable(Type.String({ description: 'Last commit that the service pushed' })),
    pull_request: Nullable(PullRequest),
  }),
)
export type SessionRepository = Static<typeof SessionRepository>
