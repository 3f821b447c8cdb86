import { isDeepStrictEqual } from 'node:util'
import type { ExportedAgent, ExportFile } from './export-file.ts'
import {
  type AgentContent,
  endpointFields,
  environmentFields,
  memoryFields,
  type ServiceContent,
  scheduleFields,
  skillFields,
} from './export-reader.ts'

/** What an import does with one object. */
export interface PlannedChange {
  readonly kind: 'skill' | 'environment' | 'agent' | 'memory' | 'schedule' | 'webhook endpoint'
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
  readonly environments: readonly PlannedChange[]
  readonly agents: readonly AgentPlan[]
  readonly endpoints: readonly PlannedChange[]
  /** What the import cannot do. */
  readonly remarks: readonly string[]
}

/**
 * Compares a file with the content of a service. Objects of the service that the file does not have stay. An agent is
 * the one with its id, else with its owner and name; skills, environments and schedules have their names, memories their
 * texts and endpoints their addresses. An object of the service is compared with one of the file at most.
 */
export function planImport(file: ExportFile, content: ServiceContent): ImportPlan {
  const [skillsLeft, environmentsLeft, endpointsLeft] = [
    [...content.skills],
    [...content.environments],
    [...content.endpoints],
  ]
  const found = agentsOf(file, content)
  const agents = file.agents.map((agent, at) => planAgent(agent, at, found[at]))
  const newIds = new Map(file.agents.map((agent, at) => [agent.id, agents[at]?.agent.id ?? agent.id]))
  return {
    skills: file.skills.map((skill, at) => {
      const same = taken(skillsLeft, ({ name }) => name === skill.name)
      return change('skill', skill.name, { at, id: same?.id, before: same && skillFields(same), after: skill })
    }),
    environments: file.environments.map((environment, at) => {
      const same = taken(environmentsLeft, ({ name }) => name === environment.name)
      const before = same && environmentFields(same)
      return change('environment', environment.name, { at, id: same?.id, before, after: environment })
    }),
    agents,
    endpoints: file.webhook_endpoints.map((endpoint, at) => {
      const same = taken(endpointsLeft, ({ url, owner_id }) => url === endpoint.url && owner_id === endpoint.owner_id)
      const after = { ...endpoint, agent_ids: endpoint.agent_ids.map(id => newIds.get(id) ?? id) }
      const before = same && endpointFields(same)
      return change('webhook endpoint', endpoint.url, { at, id: same?.id, before, after })
    }),
    remarks: remarksOf(file, agents),
  }
}

/** Removes the first match from `left` and returns it. */
function taken<T>(left: T[], isMatch: (item: T) => boolean): T | undefined {
  const at = left.findIndex(isMatch)
  return at < 0 ? undefined : left.splice(at, 1)[0]
}

/** Returns the agents of the service that the file's are, in its order. Ids go before names. */
function agentsOf(file: ExportFile, { agents }: ServiceContent): (AgentContent | undefined)[] {
  const left = [...agents]
  const byId = file.agents.map(({ id }) => taken(left, found => found.id === id))
  const isSame = (one: ExportedAgent['agent'], other: ExportedAgent['agent']) =>
    one.name === other.name && one.owner_id === other.owner_id
  return file.agents.map(({ agent }, at) => byId[at] ?? taken(left, ({ exported }) => isSame(exported.agent, agent)))
}

function planAgent(file: ExportedAgent, at: number, found: AgentContent | undefined): AgentPlan {
  const name = file.agent.name
  const [memoriesLeft, schedulesLeft] = [[...(found?.memories ?? [])], [...(found?.schedules ?? [])]]
  return {
    agent: change('agent', name, { at, id: found?.id, before: found?.exported.agent, after: file.agent }),
    memories: file.memories.map((memory, place) => {
      const same = taken(memoriesLeft, ({ text }) => text === memory.text)
      const before = same && memoryFields(same)
      // The source of a memory does not change.
      const after = before ? { ...memory, source: before.source } : memory
      return change('memory', memory.text, { at: place, id: same?.id, before, after })
    }),
    schedules: file.schedules.map((schedule, place) => {
      const same = taken(schedulesLeft, ({ name: of }) => of === schedule.name)
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
export const changesOf = ({ skills, environments, agents, endpoints }: ImportPlan): PlannedChange[] => [
  ...skills,
  ...environments,
  ...agents.flatMap(({ agent, memories, schedules }) => [agent, ...memories, ...schedules]),
  ...endpoints,
]
