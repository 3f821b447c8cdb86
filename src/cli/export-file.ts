import { Type } from 'typebox'
import Value from 'typebox/value'
import { parse, stringify } from 'yaml'
import type { AgentFile } from '../contract/agents.ts'
import type { Environment } from '../contract/environments.ts'
import type { PortableMemory } from '../contract/memories.ts'
import type { ScheduleCreate } from '../contract/schedules.ts'
import type { SkillCreate } from '../contract/skills.ts'
import type { EndpointCreate } from '../contract/webhook-endpoints.ts'
import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'

/** An agent with everything that belongs to it. */
export interface ExportedAgent extends Pick<AgentFile, 'agent' | 'skills' | 'omitted'> {
  /** Its id where it was exported; endpoints refer to it. */
  readonly id: string
  readonly memories: readonly Required<PortableMemory>[]
  readonly schedules: readonly Required<Omit<ScheduleCreate, 'agent_id'>>[]
}

/** A receiver of session events, without its secret. */
export type ExportedEndpoint = Required<Omit<EndpointCreate, 'owner_id'>> & { readonly owner_id: string | null }

/** Packages and networks of sandboxes. */
export type ExportedEnvironment = Pick<Environment, 'name' | 'description' | 'config' | 'metadata'>

/** Agents, skills, environments and webhooks of an owner, or of all, in one file without secrets. */
export interface ExportFile {
  readonly format: 'switchyard.export'
  readonly format_version: 1
  readonly skills: readonly Required<SkillCreate>[]
  readonly environments: readonly ExportedEnvironment[]
  readonly agents: readonly ExportedAgent[]
  readonly webhook_endpoints: readonly ExportedEndpoint[]
}

/** Returns the file as YAML, with long texts as blocks. */
export const yamlOf = (file: ExportFile): string => stringify(file, { lineWidth: 0 })

const named = Type.Array(Type.Object({ name: Type.String() }))

/** What an import reads; the service checks the other fields. */
const ReadFields = Type.Object({
  skills: named,
  environments: named,
  agents: Type.Array(
    Type.Object({
      id: Type.String(),
      agent: Type.Object({ name: Type.String(), config: Type.Object({}) }),
      skills: Type.Array(Type.Unknown()),
      omitted: Type.Array(Type.String()),
      memories: Type.Array(Type.Object({ text: Type.String() })),
      schedules: named,
    }),
  ),
  webhook_endpoints: Type.Array(Type.Object({ url: Type.String(), agent_ids: Type.Array(Type.String()) })),
})

/** Parses YAML or JSON. */
export function parsedExport(text: string, path: string): ExportFile {
  const file = parsed(text, path) as Partial<ExportFile> | null
  if (file?.format !== 'switchyard.export')
    throw unusable(`${path} is not an export; create it with: switchyard export`)
  if (file.format_version !== 1)
    throw unusable(`${path} has format_version ${file.format_version}, which this version of Switchyard does not read`)
  const [wrong] = Value.Errors(ReadFields, file)
  if (wrong)
    throw unusable(`${path}: ${wrong.instancePath.slice(1).replaceAll('/', '.') || 'the file'} ${wrong.message}`)
  return file as ExportFile
}

function parsed(text: string, path: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw unusable(`${path} is neither YAML nor JSON: ${error instanceof Error ? error.message.split('\n')[0] : error}`)
  }
}

const unusable = (message: string): CommandFailed => new CommandFailed(message, exitCodes.usage)
