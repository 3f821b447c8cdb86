import { createHash } from 'node:crypto'
import { type NameRule, protocols } from '../../config/protocols.ts'
import { isRecord, recordOf, textOf, withEntries } from '../../platform/json.ts'
import type { AnswerEvent } from './answer-event.ts'
import type { Target } from './call.ts'
import type { CanonicalRequest } from './codec.ts'

/** The client's names of tools, by the names sent to the upstream; empty when all names are sent unchanged. */
export type ToolNames = ReadonlyMap<string, string>

interface Named {
  readonly request: CanonicalRequest
  readonly names: ToolNames
}

const unchanged: ToolNames = new Map()

/**
 * Renames the tools whose names the protocol rejects, everywhere in the request. The new names are unique and depend on
 * the request alone, so that all replicas choose the same. `given` are all names of tools in the request.
 */
export function withLegalNames(
  request: CanonicalRequest,
  given: ReadonlySet<string>,
  protocol: Target['protocol'],
): Named {
  const rule = protocols[protocol].toolNames
  const illegal = [...given].filter(name => !rule.pattern.test(name))
  if (illegal.length === 0) return { request, names: unchanged }
  const taken = new Set(given)
  const sent = new Map<string, string>()
  for (const name of illegal) {
    const legal = legalName(name, rule, taken)
    taken.add(legal)
    sent.set(name, legal)
  }
  return { request: renamed(request, sent), names: new Map([...sent].map(([name, legal]) => [legal, name])) }
}

/** Returns a readable form of the name with a hash of it; a longer hash where another tool has that name. */
function legalName(name: string, { maxLength }: NameRule, taken: ReadonlySet<string>): string {
  const hash = createHash('sha256').update(name).digest('hex')
  const readable = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').replace(/^(?=[^a-zA-Z_])/, '_')
  for (let length = 8; length < maxLength; length += 4) {
    const legal = `${readable.slice(0, maxLength - length - 1)}_${hash.slice(0, length)}`
    if (!taken.has(legal)) return legal
  }
  return hash.slice(0, maxLength)
}

function renamed(request: CanonicalRequest, sent: ReadonlyMap<string, string>): CanonicalRequest {
  const { tool_choice: choice } = request
  const withName = (holder: unknown, field = 'name'): unknown => {
    const name = isRecord(holder) ? sent.get(textOf(holder[field])) : undefined
    return name === undefined ? holder : { ...recordOf(holder), [field]: name }
  }
  const inBlock = (block: unknown): unknown => {
    if (!isRecord(block)) return block
    if (block['type'] === 'tool_use') return withName(block)
    if (block['type'] === 'tool_reference') return withName(block, 'tool_name')
    return block['type'] === 'tool_result' ? withEntries(block, 'content', inBlock) : block
  }
  const inMessage = (message: unknown): unknown =>
    isRecord(message) ? withEntries(message, 'content', inBlock) : message
  const chosen = isRecord(choice) ? { ...request, tool_choice: withName(choice) } : request
  return withEntries(
    withEntries(chosen, 'tools', tool => withName(tool)),
    'messages',
    inMessage,
  )
}

/** Returns the event with the client's name of the tool instead of the one sent to the upstream. */
export function restoredName(event: AnswerEvent, names: ToolNames): AnswerEvent {
  if (event.type !== 'block_start' || event.block.type !== 'tool_use') return event
  const name = names.get(event.block.name)
  return name === undefined ? event : { ...event, block: { ...event.block, name } }
}
