import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError } from '../../platform/errors.ts'
import { isRecord, type Json, listOf, recordOf, recordsOf } from '../../platform/json.ts'
import type { RpcMessage } from '../client/json-rpc.ts'
import { mirroredName, plainValue } from '../client/mirrored-headers.ts'
import type { ToolRule } from '../registry/server.ts'

type Rule = NonNullable<ToolRule>

/** Returns the first call of a tool that the rule denies; undefined if there is none. */
export const deniedCall = (messages: readonly RpcMessage[], rule: Rule): RpcMessage | undefined =>
  messages.find(({ method, params }) => method === 'tools/call' && !isAllowed(rule, recordOf(params)['name']))

const isAllowed = (rule: Rule, name: unknown): boolean => typeof name === 'string' && rule(name)

/**
 * Throws `invalid_request` when headers name another method or tool than the body: a server that reads the headers would
 * do something else than what was checked. Dialects: section 6.1, rule 2.
 */
export function rejectMismatch(message: RpcMessage, header: (name: string) => string | undefined): void {
  const method = String(message['method'])
  const pairs = [
    ['mcp-method', method],
    ['mcp-name', mirroredName(method, recordOf(message['params']))],
  ] as const
  for (const [name, expected] of pairs) {
    const given = header(name)
    if (given === undefined || plainValue(given) === expected) continue
    throw new AppError('invalid_request', `${name} differs from the body`, {
      fields: { rpc: String(rpcCodes.headerMismatch) },
    })
  }
}

/** Returns a response without the tools that the rule denies; undefined if nothing changes. */
export function withoutDenied(message: Json, rule: Rule): Json | undefined {
  const { result } = message
  if (!isRecord(result) || !Array.isArray(result['tools'])) return undefined
  const allowed = recordsOf(result['tools']).filter(({ name }) => isAllowed(rule, name))
  if (allowed.length === listOf(result['tools']).length) return undefined
  return { ...message, result: { ...result, tools: allowed } }
}

/** Returns a JSON text of one message or a batch without denied tools; the same text if nothing changes. */
export function filteredText(text: string, rule: Rule): string {
  if (!text.includes('"tools"')) return text
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Not JSON, so it is not a list of tools either.
    return text
  }
  if (!Array.isArray(value)) {
    const filtered = isRecord(value) ? withoutDenied(value, rule) : undefined
    return filtered ? JSON.stringify(filtered) : text
  }
  const changed = value.map(each => (isRecord(each) ? (withoutDenied(each, rule) ?? each) : each))
  return changed.some((each, at) => each !== value[at]) ? JSON.stringify(changed) : text
}
