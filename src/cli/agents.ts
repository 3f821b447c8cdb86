import type { Client } from '../client/client.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { dim, type Out } from './out.ts'
import { plainLine } from './plain-text.ts'
import { printTable } from './table.ts'

export interface ListArguments {
  readonly limit: number
  readonly cursor?: string | undefined
}

/** `agents ls`: the agents, newest first. */
export async function listAgents(client: Client, { limit, cursor }: ListArguments, out: Out): Promise<ExitCode> {
  const page = await client.agents.list({ query: { limit, ...(cursor !== undefined && { cursor }) } })
  out.data(page)
  if (page.agents.length === 0) {
    out.line('No agents yet. Create one with POST /api/agents; sessions also work without an agent.')
    return exitCodes.ok
  }
  const rows = page.agents.map(({ id, status, model, name }) => [id, status, plainLine(model, 40), plainLine(name, 60)])
  printTable(out, ['ID', 'STATUS', 'MODEL', 'NAME'], rows)
  if (page.next_cursor !== null) out.note(dim(`More: --cursor ${page.next_cursor}`))
  return exitCodes.ok
}
