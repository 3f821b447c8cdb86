import { invalid } from './errors.ts'
import { isRecord } from './json.ts'

/** An operation of a JSON Patch. Source: RFC 6902, without `move`, `copy` and `test`. */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/** Returns a JSON value after all operations; the given one is unchanged. Throws `invalid_request` for a path that does not exist. */
export const applyPatch = (document: unknown, operations: readonly PatchOperation[]): unknown =>
  operations.reduce<unknown>((value, operation) => changed(value, tokensOf(operation.path), operation), document)

/** Returns the reference tokens of a JSON Pointer. */
function tokensOf(path: string): string[] {
  if (path === '') return []
  if (!path.startsWith('/')) throw wrong(path, 'must be empty or start with /')
  const tokens = path
    .slice(1)
    .split('/')
    .map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'))
  // Clients assign these names to objects.
  if (tokens.some(token => ['__proto__', 'constructor', 'prototype'].includes(token)))
    throw wrong(path, 'has a reserved name')
  return tokens
}

function changed(value: unknown, tokens: readonly string[], operation: PatchOperation): unknown {
  const [token, ...rest] = tokens
  if (token === undefined) {
    if (operation.op === 'remove') throw wrong(operation.path, 'must name a member to remove')
    return operation.value
  }
  if (Array.isArray(value)) return changedList(value, { token, rest, operation })
  if (isRecord(value)) return changedObject(value, { token, rest, operation })
  throw wrong(operation.path, 'does not exist')
}

interface Step {
  readonly token: string
  readonly rest: readonly string[]
  readonly operation: PatchOperation
}

function changedObject(object: Readonly<Record<string, unknown>>, { token, rest, operation }: Step): unknown {
  const isNew = !Object.hasOwn(object, token)
  if (isNew && (rest.length > 0 || operation.op !== 'add')) throw wrong(operation.path, 'does not exist')
  if (rest.length === 0 && operation.op === 'remove') {
    const { [token]: _removed, ...others } = object
    return others
  }
  return { ...object, [token]: changed(object[token], rest, operation) }
}

function changedList(list: readonly unknown[], { token, rest, operation }: Step): unknown {
  const isInsertion = rest.length === 0 && operation.op === 'add'
  const at = token === '-' && isInsertion ? list.length : indexOf(token)
  if (at === undefined || at >= list.length + (isInsertion ? 1 : 0)) throw wrong(operation.path, 'does not exist')
  if (isInsertion) return list.toSpliced(at, 0, operation.value)
  if (rest.length === 0 && operation.op === 'remove') return list.toSpliced(at, 1)
  return list.with(at, changed(list[at], rest, operation))
}

const indexOf = (token: string): number | undefined => (/^(0|[1-9]\d{0,8})$/.test(token) ? Number(token) : undefined)

const wrong = (path: string, problem: string) => invalid(`path ${JSON.stringify(path.slice(0, 200))} ${problem}`)
