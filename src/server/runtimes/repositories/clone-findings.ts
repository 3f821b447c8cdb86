import { isRecord, type Json } from '../../platform/json.ts'
import { repositoryIn } from '../repository.ts'
import type { Finding } from '../runtime.ts'
import { gitAddressOf, refProblem } from './git-address.ts'

const flag = (value: unknown) => (typeof value === 'boolean' ? undefined : 'must be true or false')

/** Returns why git cannot write the text into a commit; undefined when it can. */
const textProblem = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[^\p{Cc}<>]{1,200}$/u.test(value)
    ? undefined
    : 'must be a text of 1 to 200 characters without control characters, < and >'

/**
 * Checks the fields of an environment whose repository the service clones itself. Where its sandboxes cannot clone, the
 * fields have no effect.
 */
export function cloneFindings(environment: Json, canClone: boolean): Finding[] {
  const repository = repositoryIn(environment)
  const found: (readonly [field: string, value: unknown, check: (value: unknown) => string | undefined])[] = [
    ['repository', environment['repository'] ?? repository?.url, checkAddress],
    ['ref', environment['ref'] ?? repository?.ref, refProblem],
    ['auto_create_pr', environment['auto_create_pr'], flag],
    ['submodules', environment['submodules'], flag],
    ...authorFields(environment['commit_author']),
  ]
  return found.flatMap(([name, value, check]): Finding[] => {
    if (value === undefined || value === null) return []
    const field = `environment.${name}`
    // Without a repository the others have no effect.
    if (repository === undefined) return isInterface(name) ? [{ field }] : []
    const problem = check(value)
    if (problem !== undefined) return [{ field, problem }]
    return canClone ? [] : [{ field }]
  })
}

const checkAddress = (value: unknown): string | undefined => {
  const address = gitAddressOf(value)
  return typeof address === 'string' ? address : undefined
}

/** Fields that are named when they have no effect; other fields of an environment belong to the caller. */
const isInterface = (name: string): boolean => name === 'ref' || name === 'auto_create_pr'

function authorFields(author: unknown): (readonly [string, unknown, typeof textProblem])[] {
  if (author === undefined || author === null) return []
  if (!isRecord(author)) return [['commit_author', author, () => 'must be an object with name and email']]
  return ['name', 'email'].map(name => [`commit_author.${name}`, author[name], textProblem] as const)
}
