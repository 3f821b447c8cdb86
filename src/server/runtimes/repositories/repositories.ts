import type { NewEvent } from '../../../contract/events.ts'
import type { PullRequest, SessionRepository } from '../../../contract/repositories.ts'
import type { GitHost } from '../../config/agent-settings.ts'
import { isLongEnough } from '../../platform/echoes.ts'
import { AppError } from '../../platform/errors.ts'
import { recordOf } from '../../platform/json.ts'
import type { Sandboxes } from '../../sandboxes/sandboxes.ts'
import { repositoryIn } from '../repository.ts'
import type { RunSession } from '../runtime.ts'
import { type CheckoutTask, checkClone, cloneRepository, pushChanges, RepositoryFailed } from './checkout.ts'
import { type GitAddress, gitAddressOf, withoutSuffix } from './git-address.ts'
import { type GitCredential, type GitSecret, gitHostOf } from './git-credentials.ts'
import type { GitGrant, GitProxy } from './git-proxy.ts'
import { PullRequestFailed, type PullRequests } from './pull-requests.ts'

interface Deps {
  readonly sandboxes: Pick<Sandboxes, 'open' | 'hasNetwork'>
  readonly proxy: Pick<GitProxy, 'grant'>
  readonly credentialOf: (owner: { ownerId: string; address: GitAddress }) => Promise<GitCredential>
  readonly pullRequests: PullRequests
  readonly hosts: () => readonly GitHost[]
  /** Records that a session's sandbox is in use; never rejects. */
  readonly markSandboxRunning: (sessionId: string) => Promise<void>
}

/** Something that changed, with the event for the log. */
interface Change {
  readonly repository: SessionRepository
  readonly event: NewEvent
}

/** The repository of a session during one run. */
export interface OpenRepository {
  /** Never to appear in an event. */
  readonly secrets: readonly string[]
  /** Clones or checks the repository. Returns why that failed instead. */
  ready(known: SessionRepository | undefined): Promise<(Omit<Change, 'event'> & { readonly event?: NewEvent }) | string>
  /** What the agent must know. */
  instructions(repository: SessionRepository): string
  /** Pushes and proposes the work if the session asks for that; undefined when there is no new work. */
  publish(repository: SessionRepository, work: Work): Promise<Change | undefined>
  /** True when the branch was pushed during this run. */
  isPushed(repository: SessionRepository): boolean
  close(): void
}

interface Work {
  readonly title: string
  /** Answer of the agent. */
  readonly summary: string
}

export type Repositories = ReturnType<typeof createRepositories>

const timeoutMs = 600_000
const defaultAuthor = { name: 'Switchyard', email: 'switchyard@localhost' }

/** Repositories in the files of sessions. */
export function createRepositories(deps: Deps) {
  return {
    /** Returns undefined for a session without a repository, or a text that says why it cannot be used. */
    async open(session: RunSession, signal: AbortSignal): Promise<OpenRepository | string | undefined> {
      const wanted = repositoryIn(session.environment)
      // Sessions of older releases may name a repository where none can be cloned.
      if (!wanted || !deps.sandboxes.hasNetwork) return undefined
      const address = gitAddressOf(wanted.url)
      if (typeof address === 'string') return `environment.repository ${address}`
      const credential = await deps.credentialOf({ ownerId: session.owner_id, address }).catch(explain)
      if (typeof credential === 'string') return credential
      const known = session.refs.repository
      const grant: GitGrant = {
        ownerId: session.owner_id,
        address,
        credential,
        branch: known?.branch ?? branchOf(session.id),
        submodules: new Set(known?.submodules),
        problem: undefined,
        pushes: 0,
      }
      return openRepository(deps, { session, signal, grant, url: `${address.origin}${address.path}`, ref: wanted.ref })
    },
  }
}

const explain = (error: unknown): string => {
  if (error instanceof AppError && error.code !== 'internal') return error.message
  throw error
}

/** The branch of a session, which alone may be pushed. */
const branchOf = (sessionId: string): string => `switchyard/${sessionId}`

interface Opening {
  readonly session: RunSession
  readonly signal: AbortSignal
  readonly grant: GitGrant
  readonly url: string
  readonly ref: string | undefined
}

function openRepository(deps: Deps, { session, signal, grant, url, ref }: Opening): OpenRepository {
  const { environment, id } = session
  const revoke = deps.proxy.grant(id, grant)
  const task: CheckoutTask = {
    grant,
    url,
    ref,
    author: authorIn(environment),
    hasSubmodules: environment['submodules'] === true,
    async exec(command) {
      const sandbox = await deps.sandboxes.open(id, session)
      await deps.markSandboxRunning(id)
      return sandbox.exec({ command, timeoutMs, signal })
    },
  }
  const isAutomatic = (environment['auto_create_pr'] ?? environment['autoCreatePr']) === true
  const { secret } = grant.credential
  return {
    secrets: secret ? secretsOf(secret) : [],
    close: revoke,
    isPushed: () => grant.pushes > 0,

    async ready(known) {
      try {
        if (!known) {
          const repository = await cloneRepository(task)
          return { repository, event: { type: 'session.repository_ready', repository } }
        }
        const isRepaired = await checkClone(task, known)
        const event = { type: 'session.repository_ready', repository: known, repaired: true } as const
        return { repository: known, ...(isRepaired && { event }) }
      } catch (error) {
        if (!(error instanceof RepositoryFailed)) throw error
        return `cannot clone ${url}: ${error.message}`
      }
    },

    instructions: ({ branch, base }) =>
      [
        `The repository ${url} is checked out in the working folder, on the new branch ${branch}${base ? ` from ${base}` : ''}.`,
        `\`git fetch\` and \`git push\` work without a password; a push may write to ${branch} only.`,
        isAutomatic
          ? 'When you finish, remaining changes are committed, the branch is pushed and a pull request is opened for you.'
          : 'Commit and push your work if you are asked to.',
      ].join(' '),

    async publish(repository, { title, summary }) {
      if (!isAutomatic) return undefined
      try {
        const commit = await pushChanges(task, repository, title)
        if (commit === undefined) return undefined
        const { branch } = repository
        const pull_request = await proposed(deps, { session, grant, repository, title, summary })
        const event = { type: 'session.repository_pushed', branch, commit, pull_request } as const
        return { repository: { ...repository, pushed_commit: commit, pull_request }, event }
      } catch (error) {
        if (!(error instanceof RepositoryFailed || error instanceof PullRequestFailed)) throw error
        const message = `cannot propose the work of this prompt: ${error.message}`
        return { repository, event: { type: 'session.warning', warning: { type: 'pull_request_failed', message } } }
      }
    },
  }
}

const secretsOf = ({ value, token, authorization }: GitSecret): string[] =>
  [value, token, authorization.replace(/^\w+ /, '')].filter(isLongEnough)

interface Proposal extends Work {
  readonly session: RunSession
  readonly grant: GitGrant
  readonly repository: SessionRepository
}

const maxTitleLength = 200
const maxSummaryLength = 20_000

async function proposed(
  { hosts, pullRequests }: Pick<Deps, 'hosts' | 'pullRequests'>,
  { session, grant: { address, credential }, repository: { base, branch }, title, summary }: Proposal,
): Promise<PullRequest> {
  const host = gitHostOf(hosts(), address.host)
  if (!host)
    throw new PullRequestFailed(
      `the branch ${branch} is pushed, but git_hosts of the configuration file does not list ${address.host}`,
    )
  if (!credential.secret)
    throw new PullRequestFailed(`the API of ${address.host} needs a token in the vault entry ${credential.name}`)
  if (base === null || base === '')
    throw new PullRequestFailed('the repository has no default branch that the work could be proposed for')
  return pullRequests.open({
    host,
    token: credential.secret.token,
    draft: {
      repository: withoutSuffix(address.path).slice(1),
      ...{ branch, base },
      title: title.slice(0, maxTitleLength),
      body: `${summary.slice(0, maxSummaryLength)}\n\n---\nSession ${session.id}`.trim(),
    },
  })
}

/** Reads `environment.commit_author`. */
function authorIn(environment: RunSession['environment']): { readonly name: string; readonly email: string } {
  const { name, email } = recordOf(environment['commit_author'])
  return {
    name: typeof name === 'string' ? name : defaultAuthor.name,
    email: typeof email === 'string' ? email : defaultAuthor.email,
  }
}
