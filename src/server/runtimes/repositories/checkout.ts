import { randomBytes } from 'node:crypto'
import type { SessionRepository } from '../../../contract/repositories.ts'
import { withoutEchoes } from '../../platform/echoes.ts'
import { withoutTrailing } from '../../platform/trailing.ts'
import type { ExecResult } from '../../sandboxes/sandbox.ts'
import { withoutSuffix } from './git-address.ts'
import type { GitGrant } from './git-proxy.ts'
import {
  checkScript,
  cleanupScript,
  cloneScript,
  completeScript,
  gitScript,
  publishScript,
  type Reports,
  reportsIn,
} from './git-script.ts'

/** Runs a command in the sandbox of a session, with the git proxy. */
export type ExecGit = (command: string) => Promise<ExecResult>

/** The repository could not be cloned or pushed. The message is for people, without the credential. */
export class RepositoryFailed extends Error {
  override readonly name = 'RepositoryFailed'
}

interface Author {
  readonly name: string
  readonly email: string
}

export interface CheckoutTask {
  readonly exec: ExecGit
  readonly grant: GitGrant
  /** Normalised, without a slash at its end. */
  readonly url: string
  /** Undefined: the default branch. */
  readonly ref: string | undefined
  readonly author: Author
  readonly hasSubmodules: boolean
}

/** Files of tools and shells in the workspace, which are not part of the work. */
const exclude = [
  '.outputs/',
  '.switchyard/',
  '.draft-*',
  '.cache/',
  '.config/',
  '.local/',
  '.npm/',
  '.bash_history',
  '',
].join('\n')

/**
 * Clones the repository into the workspace, unless an interrupted run already has. Rejects with `RepositoryFailed` after
 * it has removed an incomplete clone.
 */
export async function cloneRepository(task: CheckoutTask): Promise<SessionRepository> {
  const { grant, url } = task
  const cloned = await run(task, cloneScript, variablesOf(task))
  const base = cloned.get('base')?.[0] || null
  const found = { url, branch: grant.branch, base, pushed_commit: null, pull_request: null }
  const present = cloned.get('present')?.[0]
  if (present !== undefined) {
    // The clone of an interrupted run, or of the session that this one was forked from.
    const repository = { ...found, commit: present, submodules: [] }
    await checkClone(task, repository)
    return repository
  }
  const commit = cloned.get('commit')?.[0] ?? ''
  const modules = task.hasSubmodules ? submodulesIn(cloned, task) : []
  for (const { repository } of modules) grant.submodules.add(repository)
  const paths = modules.map(({ path }) => path).join('\n')
  await run(task, completeScript, { commit, base: base ?? '', paths })
  return { ...found, commit, submodules: modules.map(({ repository }) => repository) }
}

/** Fetches the commit again when the session has moved without it. Returns whether that was necessary. */
export async function checkClone(task: CheckoutTask, { base, commit }: SessionRepository): Promise<boolean> {
  const known = { base_commit: commit, base_branch: base ?? '' }
  return (await run(task, checkScript, { ...variablesOf(task), ...known })).has('repaired')
}

/**
 * Commits and pushes all changes since the base. Returns the commit; undefined when nothing has changed, or all of it is
 * in the pull request.
 */
export async function pushChanges(
  task: CheckoutTask,
  { commit, pushed_commit, pull_request }: SessionRepository,
  message: string,
): Promise<string | undefined> {
  const variables = {
    ...variablesOf(task),
    base_commit: commit,
    proposed: pull_request ? (pushed_commit ?? '') : '',
    message,
  }
  return (await run(task, publishScript, variables)).get('pushed')?.[0]
}

function variablesOf({ grant, url, ref = '', author }: CheckoutTask): Record<string, string> {
  const identity = { author_name: author.name, author_email: author.email }
  return { url, ref, branch: grant.branch, exclude, ...identity }
}

async function run(task: CheckoutTask, body: string, variables: Record<string, string>): Promise<Reports> {
  const { exec, grant } = task
  const origin = grant.address.origin
  const nonce = randomBytes(12).toString('hex')
  grant.problem = undefined
  const result = await exec(gitScript(nonce, { origin, ...variables }, body))
  const reports = reportsIn(result.output, nonce)
  if (result.outcome === 'exited' && result.exitCode === 0) return reports
  // A command that was stopped could not clean up itself.
  await exec(gitScript(nonce, { origin }, cleanupScript)).catch(() => undefined)
  throw new RepositoryFailed(reasonOf(result, reports, grant))
}

const maxReasonLength = 500

function reasonOf({ outcome, output }: ExecResult, reports: Reports, { problem, credential }: GitGrant): string {
  const own = reports.get('problem')?.[0] ?? problem
  if (own !== undefined) return own
  if (outcome === 'timed_out') return 'git did not finish within 10 minutes'
  if (outcome === 'disk_limit') return 'the disk of the server is too full'
  if (outcome === 'output_limit') return 'git wrote too much output'
  const secrets = credential.secret ? [credential.secret.value, credential.secret.authorization] : []
  const words = withoutEchoes(output.replaceAll(/\s+/g, ' ').trim().slice(-maxReasonLength), secrets)
  return words === '' ? 'git failed' : words
}

interface Submodule {
  readonly path: string
  /** Path at the host, without `.git`. */
  readonly repository: string
}

/** Returns the submodules at the host of the repository; the others stay empty folders. */
function submodulesIn(reports: Reports, { url, grant: { address } }: CheckoutTask): Submodule[] {
  const settings = new Map<string, string>()
  for (const line of reports.get('module') ?? []) {
    const at = line.indexOf(' ')
    settings.set(line.slice(0, at), line.slice(at + 1))
  }
  return [...settings].flatMap(([key, value]) => {
    const path = key.endsWith('.url') ? settings.get(key.replace(/\.url$/, '.path')) : undefined
    const target = path === undefined ? null : URL.parse(value, `${url}/`)
    const isHere = target?.origin === address.origin && target.username === ''
    return path !== undefined && isHere
      ? [{ path, repository: withoutSuffix(withoutTrailing(target.pathname, '/')) }]
      : []
  })
}
