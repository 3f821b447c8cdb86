import { isDeepStrictEqual } from 'node:util'
import type { ExportedAgent, ExportFile } from './export-file.ts'
import {
  type AgentContent,
  endpointFields,
  memoryFields,
  type ServiceContent,
  scheduleFields,
} from './export-reader.ts'

/** What an import does with one object. */
export interface PlannedChange {
  readonly kind: 'skill' | 'agent' | 'memory' | 'schedule' | 'webhook endpoint'
  readonly name: string
  readonly action: 'created' | 'changed' | 'unchanged'
  /** Names of changed fields. */
  readonly fields: readonly string[]
  /** Id of the object that changes; undefined for a new one. */
  readonly id: string | undefined
  /** Place in its list of the file. */
  readonly at: number
}

/** Plan for an agent, with the objects that belong to it. */
export interface AgentPlan {
  readonly agent: PlannedChange
  readonly memories: readonly PlannedChange[]
  readonly schedules: readonly PlannedChange[]
}

export interface ImportPlan {
  readonly skills: readonly PlannedChange[]
  readonly agents: readonly AgentPlan[]
  readonly endpoints: readonly PlannedChange[]
  /** What the import cannot do. */
  readonly remarks: readonly string[]
}

/**
 * Compares a file with the content of a service. Objects of the service that the file does not have stay. An agent is
 * the one with its id, else with its owner and name; skills and schedules have their names, memories their texts and
 * endpoints their addresses.
 */
export function planImport(file: ExportFile, content: ServiceContent): ImportPlan {
  const agents = file.agents.map((agent, at) => planAgent(agent, at, agentOf(agent, content)))
  const newIds = new Map(file.agents.map((agent, at) => [agent.id, agents[at]?.agent.id ?? agent.id]))
  return {
    skills: file.skills.map((skill, at) => {
      const found = content.skills.find(({ name }) => name === skill.name)
      const before = found && { name: found.name, description: found.description, content: found.content }
      return change('skill', skill.name, { at, id: found?.id, before, after: skill })
    }),
    agents,
    endpoints: file.webhook_endpoints.map((endpoint, at) => {
      const found = content.endpoints.find(
        ({ url, owner_id }) => url === endpoint.url && owner_id === endpoint.owner_id,
      )
      const after = { ...endpoint, agent_ids: endpoint.agent_ids.map(id => newIds.get(id) ?? id) }
      const before = found && endpointFields(found)
      return change('webhook endpoint', endpoint.url, { at, id: found?.id, before, after })
    }),
    remarks: remarksOf(file, agents),
  }
}

function agentOf({ id, agent }: ExportedAgent, { agents }: ServiceContent): AgentContent | undefined {
  const isSame = ({ exported }: AgentContent) =>
    exported.agent.name === agent.name && exported.agent.owner_id === agent.owner_id
  return agents.find(found => found.id === id) ?? agents.find(isSame)
}

function planAgent(file: ExportedAgent, at: number, found: AgentContent | undefined): AgentPlan {
  const name = file.agent.name
  return {
    agent: change('agent', name, { at, id: found?.id, before: found?.exported.agent, after: file.agent }),
    memories: file.memories.map((memory, place) => {
      const same = found?.memories.find(({ text }) => text === memory.text)
      const before = same && memoryFields(same)
      // The source of a memory does not change.
      const after = before ? { ...memory, source: before.source } : memory
      return change('memory', memory.text, { at: place, id: same?.id, before, after })
    }),
    schedules: file.schedules.map((schedule, place) => {
      const same = found?.schedules.find(({ name: of }) => of === schedule.name)
      return change('schedule', schedule.name, {
        at: place,
        id: same?.id,
        before: same && scheduleFields(same),
        after: schedule,
      })
    }),
  }
}

interface Compared {
  readonly at: number
  readonly id: string | undefined
  readonly before: object | undefined
  readonly after: object
}

function change(kind: PlannedChange['kind'], name: string, { at, id, before, after }: Compared): PlannedChange {
  if (!before) return { kind, name, action: 'created', fields: [], id, at }
  const old = new Map<string, unknown>(Object.entries(before))
  const fields = Object.entries(after).flatMap(([field, value]) =>
    isDeepStrictEqual(value, old.get(field)) ? [] : [field],
  )
  return { kind, name, action: fields.length > 0 ? 'changed' : 'unchanged', fields, id, at }
}

function remarksOf({ agents }: ExportFile, plans: readonly AgentPlan[]): string[] {
  return agents.flatMap(({ agent, omitted, skills }, at) => {
    const { action, fields } = plans[at]?.agent ?? { action: 'unchanged', fields: [] }
    if (action === 'unchanged') return []
    const lost = omitted.length > 0 ? [`agent ${agent.name}: set these secrets again: ${omitted.join(', ')}`] : []
    const isPromptOfSkills = action === 'changed' && skills.length > 0 && fields.includes('system')
    const skillText = `agent ${agent.name}: its prompt gets the text of its skills; attach skills that are new to it again`
    return isPromptOfSkills ? [...lost, skillText] : lost
  })
}

/** Returns all changes of a plan in the order in which an import makes them. */
export const changesOf = ({ skills, agents, endpoints }: ImportPlan): PlannedChange[] => [
  ...skills,
  ...agents.flatMap(({ agent, memories, schedules }) => [agent, ...memories, ...schedules]),
  ...endpoints,
]
