import type { Client } from '../client/client.ts'
import { type Memory, type MemoryWrite, memoryRoutes } from '../contract/memories.ts'
import type { ListArguments } from './agents.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { dim, type Out } from './out.ts'
import { plainLine } from './plain-text.ts'
import { printTable } from './table.ts'

interface ListMemoriesArguments extends ListArguments {
  readonly agentId: string
  /** Substring of the text. */
  readonly search?: string | undefined
  readonly tag?: string | undefined
}

/** `memories ls`: lists the memories of an agent in the order in which a session gets them, without counting a use. */
export async function listMemories(client: Client, args: ListMemoriesArguments, out: Out): Promise<ExitCode> {
  const { agentId, limit, cursor, search, tag } = args
  const query = {
    limit,
    include_disabled: true,
    track: false,
    ...(cursor !== undefined && { cursor }),
    ...(search !== undefined && { q: search }),
    ...(tag !== undefined && { tag }),
  }
  const { data, nextCursor } = await client.page(memoryRoutes.list, { params: { agent_id: agentId }, query })
  out.data({ data, next_cursor: nextCursor ?? null })
  if (data.length === 0) {
    out.line(`No memories found. Add one: switchyard memories add ${agentId} "<text>"`)
    return exitCodes.ok
  }
  printTable(out, ['ID', 'PRIORITY', 'USED', 'SOURCE', 'TYPE', 'TEXT'], data.map(rowOf))
  if (nextCursor !== undefined) out.note(dim(`More: --cursor ${nextCursor}`))
  return exitCodes.ok
}

const rowOf = ({ id, priority, times_applied, source, type, text, disabled }: Memory): string[] => [
  id,
  String(priority),
  String(times_applied),
  source,
  plainLine(type, 20),
  plainLine(disabled ? `(disabled) ${text}` : text, 80),
]

interface AddArguments {
  readonly agentId: string
  readonly fields: MemoryWrite
}

/** `memories add`: prints the id of the new memory. */
export async function addMemory(client: Client, { agentId, fields }: AddArguments, out: Out): Promise<ExitCode> {
  const memory = await client.memories.create({ params: { agent_id: agentId }, body: fields })
  out.data(memory)
  out.line(memory.id)
  return exitCodes.ok
}

interface RemoveArguments {
  readonly agentId: string
  readonly memoryId: string
}

/** `memories rm`: deletes a memory permanently. */
export async function removeMemory(
  client: Client,
  { agentId, memoryId }: RemoveArguments,
  out: Out,
): Promise<ExitCode> {
  await client.memories.remove({ params: { agent_id: agentId, memory_id: memoryId } })
  out.data({ id: memoryId, removed: true })
  out.line({ text: '✓ ', tone: 'good' }, `deleted ${memoryId}`)
  return exitCodes.ok
}
