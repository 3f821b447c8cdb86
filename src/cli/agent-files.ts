import type { Client } from '../client/client.ts'
import type { AgentFile } from '../contract/agents.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import { textOfInput } from './input-file.ts'
import { dim, type Out } from './out.ts'
import { plainJson } from './plain-text.ts'

/** `agents export`: prints the file to standard output, and the omitted fields to standard error. */
export async function exportAgent(
  client: Client,
  { agentId }: { readonly agentId: string },
  out: Out,
): Promise<ExitCode> {
  const file = await client.agents.export({ params: { agent_id: agentId } })
  out.data(file)
  out.line(plainJson(file))
  if (file.omitted.length > 0) out.note(dim(`Omitted because they may contain secrets: ${file.omitted.join(', ')}`))
  return exitCodes.ok
}

interface ImportArguments {
  /** A path; `-` is standard input. */
  readonly path: string
  readonly readStdin: () => Promise<string>
  readonly name?: string | undefined
  readonly owner?: string | undefined
}

/** `agents import`: prints the id of the new agent. */
export async function importAgent(client: Client, args: ImportArguments, out: Out): Promise<ExitCode> {
  const { path, readStdin, name, owner } = args
  const text = await textOfInput(path, readStdin)
  const query = { ...(name !== undefined && { name }), ...(owner !== undefined && { owner_id: owner }) }
  const agent = await client.agents.import({ body: parsed(text, path), query })
  out.data(agent)
  out.line(agent.id)
  return exitCodes.ok
}

/** Parses the file; the service checks its content. */
function parsed(text: string, path: string): AgentFile {
  try {
    return JSON.parse(text) as AgentFile
  } catch {
    throw new CommandFailed(`${path} is not JSON; create the file with: switchyard agents export <id>`, exitCodes.usage)
  }
}
