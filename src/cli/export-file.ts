import { parse, stringify } from 'yaml'
import type { AgentFile } from '../contract/agents.ts'
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

/** Agents, skills and webhooks of an owner, or of all, in one file without secrets. */
export interface ExportFile {
  readonly format: 'switchyard.export'
  readonly format_version: 1
  readonly skills: readonly Required<SkillCreate>[]
  readonly agents: readonly ExportedAgent[]
  readonly webhook_endpoints: readonly ExportedEndpoint[]
}

/** Returns the file as YAML, with long texts as blocks. */
export const yamlOf = (file: ExportFile): string => stringify(file, { lineWidth: 0 })

/** Parses YAML or JSON. The service checks the objects; this checks that the file has its lists. */
export function parsedExport(text: string, path: string): ExportFile {
  const file = parsed(text, path) as Partial<ExportFile> | null
  if (file?.format !== 'switchyard.export' || file.format_version !== 1)
    throw unusable(`${path} is not an export; create it with: switchyard export`)
  for (const list of ['skills', 'agents', 'webhook_endpoints'] as const)
    if (!Array.isArray(file[list])) throw unusable(`${path}: ${list} must be a list`)
  for (const [at, agent] of (file.agents ?? []).entries()) {
    for (const list of ['skills', 'omitted', 'memories', 'schedules'] as const)
      if (!Array.isArray(agent?.[list])) throw unusable(`${path}: agents[${at}].${list} must be a list`)
    if (typeof agent.agent?.name !== 'string') throw unusable(`${path}: agents[${at}].agent.name is missing`)
  }
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
